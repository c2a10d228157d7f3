// Brokers that are wrong in one way each, to see whether the judge finds out.
#pragma once

#include <memory>
#include <utility>

#include "conformance/subject.h"
#include "reference/reference_broker.h"

namespace retsu::random_runs {

enum class Spoil : std::uint8_t {
  kNothing,
  kRemaining,  // one too many
  kThirdPush,  // is answered, and lost
  kCancel,     // is answered, and not done
  kClock,      // a millisecond late
};

// The model, spoiled.
class SpoiledBroker : public Broker {
 public:
  SpoiledBroker(Limits limits, Spoil spoil) : inner_(limits), spoil_(spoil) {}

  void submit(Command command, Context context, Done done) noexcept override {
    if (spoil_ == Spoil::kThirdPush && std::holds_alternative<Push>(command) && ++pushes_ == 3) {
      PushReply reply;
      for (const NewTask& task : std::get<Push>(command).tasks) {
        reply.tasks.push_back({task.id, State::kQueued, true, std::nullopt});
      }
      return answer_instead(std::move(context), std::move(done), std::move(reply));
    }
    if (spoil_ == Spoil::kCancel && std::holds_alternative<CancelTask>(command)) {
      command = GetTask{std::get<CancelTask>(command).id, 0};
    }
    if (spoil_ == Spoil::kRemaining && std::holds_alternative<Claim>(command)) {
      done = [done](Answer reply) {
        if (reply) ++std::get<ClaimReply>(*reply).remaining;
        done(std::move(reply));
      };
    }
    inner_.submit(std::move(command), std::move(context), std::move(done));
  }
  Subscription watch(EventFilter filter, EventSink sink) override {
    return inner_.watch(std::move(filter), std::move(sink));
  }
  [[nodiscard]] Capabilities capabilities() const override { return inner_.capabilities(); }

  void set_clock(TimePoint clock) {
    inner_.set_clock(spoil_ == Spoil::kClock ? clock - Millis{1} : clock);
  }

 private:
  void answer_instead(Context context, Done done, Reply reply) {
    inner_.submit(Stats{}, std::move(context),
                  [done = std::move(done), reply = std::move(reply)](const Answer&) {
                    done(Result<Reply>(reply));
                  });
  }

  ReferenceBroker inner_;
  const Spoil spoil_;
  int pushes_ = 0;
};

class SpoiledSubject : public conformance::Subject {
 public:
  SpoiledSubject(Limits limits, Spoil spoil) : broker_(limits, spoil) {}

  Broker& broker() override { return broker_; }
  TimePoint now() override { return now_; }
  void set_clock(TimePoint time) override {
    now_ = time;
    broker_.set_clock(time);
  }

 private:
  SpoiledBroker broker_;
  TimePoint now_{};
};

}  // namespace retsu::random_runs
