// SPDX-License-Identifier: MIT
// Corpus: templates, virtual calls, lambdas, exceptions that unwind through several frames, std::sort and std::map.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" __attribute__((noinline)) void work_start()
{
    static volatile int sink;
    sink = sink + 1;
}

namespace corpus {

static volatile std::uint64_t sink;

struct shape {
    virtual ~shape() = default;
    virtual double area(int depth) const = 0;
};

template <int Sides> struct polygon : shape {
    double size = Sides;
    __attribute__((noinline)) double area(int depth) const override
    {
        double sum = size * depth;
        if (depth > 0)
            sum += polygon<(Sides > 1 ? Sides - 1 : 1)>().area(depth - 1);
        return sum;
    }
};

__attribute__((noinline)) static int thrower(int depth, const std::string &text)
{
    if (depth == 0)
        throw std::runtime_error(text + " thrown");
    return thrower(depth - 1, text) + 1;
}

__attribute__((noinline)) static int catcher(int depth)
{
    try {
        return thrower(depth, "an error that is");
    } catch (const std::exception &problem) {
        return static_cast<int>(std::string(problem.what()).size());
    }
}

__attribute__((noinline)) static std::uint64_t containers(unsigned seed)
{
    std::map<std::string, int> names;
    std::vector<std::string> list;
    for (unsigned i = 0; i < 12; i++) {
        names["name " + std::to_string(seed * i % 17)] += static_cast<int>(i);
        list.push_back(std::to_string(seed ^ i));
    }
    std::sort(list.begin(), list.end(), [](const std::string &a, const std::string &b) { return a < b; });
    std::function<int(int)> recurse = [&](int depth) { return depth ? recurse(depth - 1) + 1 : static_cast<int>(names.size()); };
    return static_cast<std::uint64_t>(recurse(5)) + list.front().size();
}

} // namespace corpus

int main()
{
    work_start();
    const corpus::polygon<6> hexagon;
    const corpus::shape &shape = hexagon;
    for (unsigned round = 1;; round++) {
        corpus::sink = corpus::sink + static_cast<std::uint64_t>(shape.area(round % 7));
        corpus::sink = corpus::sink + static_cast<std::uint64_t>(corpus::catcher(round % 5));
        corpus::sink = corpus::sink + corpus::containers(round);
    }
}
