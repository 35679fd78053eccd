// What Gloo's and NCCL's process groups have in common: c10d's interface.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "transport.h"

namespace openmanus {

// c10d's store over the coordinator's keys, by which the ranks exchange their addresses.
class LinkStore : public c10d::Store {
 public:
  LinkStore(std::shared_ptr<Link> link, Milliseconds timeout)
      : c10d::Store(timeout), link_(std::move(link)) {}

  using c10d::Store::compareSet;
  using c10d::Store::set;

  // Newer versions of c10d ask for this; older ones do not know it.
  c10::intrusive_ptr<c10d::Store> clone() {
    return c10::make_intrusive<LinkStore>(link_, timeout_);
  }

  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    request(StoreAction::kSet, key, text(value));
  }

  std::vector<uint8_t> get(const std::string& key) override {
    return bytes(request(StoreAction::kGet, key));
  }

  int64_t add(const std::string& key, int64_t value) override {
    return std::stoll(request(StoreAction::kAdd, key, std::to_string(value)));
  }

  std::vector<uint8_t> compareSet(
      const std::string& key, const std::vector<uint8_t>& expected,
      const std::vector<uint8_t>& desired) override {
    return bytes(request(StoreAction::kCompareSet, key, text(expected), text(desired)));
  }

  bool deleteKey(const std::string& key) override {
    bool found = false;
    request(StoreAction::kDelete, key, "", "", &found);
    return found;
  }

  bool check(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) {
      bool found = false;
      request(StoreAction::kCheck, key, "", "", &found);
      if (!found) return false;
    }
    return true;
  }

  int64_t getNumKeys() override { return std::stoll(request(StoreAction::kCount, "")); }

  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }

  void wait(const std::vector<std::string>& keys, const Milliseconds& timeout) override {
    const Clock::time_point deadline = Clock::now() + timeout;
    for (const std::string& key : keys)
      link_->store(StoreAction::kGet, key, "", "", deadline, nullptr);
  }

 private:
  static std::string text(const std::vector<uint8_t>& value) {
    return std::string(value.begin(), value.end());
  }

  static std::vector<uint8_t> bytes(const std::string& value) {
    return std::vector<uint8_t>(value.begin(), value.end());
  }

  std::string request(
      StoreAction action, const std::string& key, const std::string& first = "",
      const std::string& second = "", bool* found = nullptr) {
    try {
      return link_->store(action, key, first, second, Clock::now() + timeout_, found);
    } catch (const Verdict& verdict) {
      // c10d and Gloo know nothing of verdicts; the group's own wait reports it.
      throw std::runtime_error(verdict.text);
    }
  }

  const std::shared_ptr<Link> link_;
};

inline c10d::ReduceOp::RedOpType c10dReduction(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      return c10d::ReduceOp::PRODUCT;
    case Reduction::kMinimum:
      return c10d::ReduceOp::MIN;
    case Reduction::kMaximum:
      return c10d::ReduceOp::MAX;
    default:
      return c10d::ReduceOp::SUM;
  }
}

// Group: c10d::ProcessGroupGloo or c10d::ProcessGroupNCCL, which derive from different classes in
// different versions. MakeFlight: what to do with a c10d::Work.
template <class Group, class CollectiveFlight, class PairFlight>
class C10dTransport : public Transport {
 public:
  explicit C10dTransport(c10::intrusive_ptr<Group> group) : group_(std::move(group)) {}

  std::shared_ptr<Flight> allReduce(const at::Tensor& tensor, Reduction reduction) override {
    std::vector<at::Tensor> tensors{tensor};
    c10d::AllreduceOptions options;
    options.reduceOp = c10dReduction(reduction);
    return std::make_shared<CollectiveFlight>(group_->allreduce(tensors, options));
  }

  std::shared_ptr<Flight> broadcast(const at::Tensor& tensor, int root) override {
    std::vector<at::Tensor> tensors{tensor};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    return std::make_shared<CollectiveFlight>(group_->broadcast(tensors, options));
  }

  std::shared_ptr<Flight> allGather(
      const std::vector<at::Tensor>& outputs, const at::Tensor& input) override {
    std::vector<std::vector<at::Tensor>> lists{outputs};
    std::vector<at::Tensor> inputs{input};
    return std::make_shared<CollectiveFlight>(group_->allgather(lists, inputs));
  }

  std::shared_ptr<Flight> allToAll(
      const at::Tensor& output, const at::Tensor& input, std::vector<int64_t> outputCounts,
      std::vector<int64_t> inputCounts) override {
    at::Tensor to = output;
    at::Tensor from = input;
    return std::make_shared<CollectiveFlight>(
        group_->alltoall_base(to, from, outputCounts, inputCounts));
  }

  std::shared_ptr<Flight> send(const at::Tensor& tensor, int destination, int tag) override {
    std::vector<at::Tensor> tensors{tensor};
    return std::make_shared<PairFlight>(group_->send(tensors, destination, tag), tensor);
  }

  std::shared_ptr<Flight> receive(const at::Tensor& tensor, int source, int tag) override {
    std::vector<at::Tensor> tensors{tensor};
    return std::make_shared<PairFlight>(group_->recv(tensors, source, tag), tensor);
  }

 private:
  c10::intrusive_ptr<Group> group_;
};

}  // namespace openmanus
