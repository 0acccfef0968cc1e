// LSDT-CSI, UCB1 and Thompson sampling written by hand, one loop each: no dispatch, generator state in local
// variables, contiguous arrays. The rules, the random streams and the ties are those of lsdt: a replication
// comes to the same regret; bench_cpp.py checks that before it measures.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

// The ziggurat of 256 layers that lsdt.kernel.streams makes, handed over once.
double width[256], inside[256], height[257];
constexpr double tail_start = 3.6541528853610088;

struct Generator {  // Philox4x64-10
    uint64_t key0, key1, number, drawn = 0, block[4];

    explicit Generator(const uint64_t* key, uint64_t number = 0) : key0(key[0]), key1(key[1]), number(number) {}

    // The stream of one round, for one purpose.
    Generator(const uint64_t* key, int64_t round, uint64_t purpose)
        : Generator(key, static_cast<uint64_t>(round) * 16 + purpose) {}

    void encrypt() {
        uint64_t a = drawn >> 2, b = number, c = 0, d = 0, k0 = key0, k1 = key1;
        for (int round = 0; round < 10; ++round) {
            const unsigned __int128 one = static_cast<unsigned __int128>(0xD2E7470EE14C6C93ULL) * a;
            const unsigned __int128 other = static_cast<unsigned __int128>(0xCA5A826395121157ULL) * c;
            a = static_cast<uint64_t>(other >> 64) ^ b ^ k0;
            b = static_cast<uint64_t>(other);
            c = static_cast<uint64_t>(one >> 64) ^ d ^ k1;
            d = static_cast<uint64_t>(one);
            k0 += 0x9E3779B97F4A7C15ULL;
            k1 += 0xBB67AE8584CAA73BULL;
        }
        block[0] = a, block[1] = b, block[2] = c, block[3] = d;
    }

    uint64_t word() {
        const uint64_t lane = drawn & 3;
        if (lane == 0) encrypt();
        ++drawn;
        return block[lane];
    }

    static double unit(uint64_t bits) {
        return static_cast<double>(static_cast<int64_t>(bits >> 11)) * 0x1p-53;
    }

    double uniform() { return unit(word()); }

    double tail() {
        for (;;) {
            const double x = -std::log(1.0 - uniform()) / tail_start;
            if (-2.0 * std::log(1.0 - uniform()) > x * x) return tail_start + x;
        }
    }

    double normal() {
        for (;;) {
            const uint64_t bits = word();
            const int layer = bits & 255;
            const double sign = 1.0 - 2.0 * static_cast<double>((bits >> 8) & 1);
            const double share = unit(bits), x = share * width[layer];
            if (share < inside[layer]) return sign * x;
            if (layer == 0) return sign * tail();
            if (height[layer] + uniform() * (height[layer + 1] - height[layer]) < std::exp(-0.5 * x * x)) {
                return sign * x;
            }
        }
    }

    double gamma(double depth, double breadth) {
        for (;;) {
            const double x = normal();
            double v = 1.0 + breadth * x;
            if (v <= 0.0) continue;
            v = v * v * v;
            const double u = 1.0 - uniform(), square = x * x;
            if (u < 1.0 - 0.0331 * square * square) return depth * v;
            if (std::log(u) < 0.5 * square + depth * (1.0 - v + std::log(v))) return depth * v;
        }
    }
};

// What every loop gets: the world of one replication and where to put what came out.
struct Run {
    const int64_t* arms;  // arm i of the policy is arm arms[i] of the problem
    int64_t n_arms;
    const double* means;
    const double* gaps;
    const uint64_t* reward_key;
    const uint64_t* policy_key;
    const int64_t* checkpoints;  // the last one is the horizon
    int64_t n_checkpoints;
    double* regret;
    double* reward;
    int64_t* plays;
};

template <bool bernoulli>
double drawn(Generator& noise, double mean) {
    if constexpr (bernoulli) return noise.uniform() < mean ? 1.0 : 0.0;
    return mean + noise.normal();
}

// Plays all rounds: choose(t) returns an arm of the policy in round t, learn(arm, reward) counts.
template <bool bernoulli, class Choose, class Learn>
void play(const Run& run, Choose choose, Learn learn) {
    Generator noise(run.reward_key);
    double regret = 0.0, earned = 0.0;
    int64_t t = 0;
    for (int64_t at = 0; at < run.n_checkpoints; ++at) {
        for (const int64_t stop = run.checkpoints[at]; t < stop; ++t) {
            const int64_t chosen = choose(t), arm = run.arms[chosen];
            const double reward = drawn<bernoulli>(noise, run.means[arm]);
            learn(chosen, reward);
            regret += run.gaps[arm];
            earned += reward;
            ++run.plays[arm];
        }
        run.regret[at] = regret;
        run.reward[at] = earned;
    }
}

struct Tallies {
    std::vector<double> counts, sums, means, isq;

    explicit Tallies(int64_t n) : counts(n), sums(n), means(n), isq(n) {}

    void add(int64_t at, double reward) {
        counts[at] += 1.0;
        sums[at] += reward;
        means[at] = sums[at] / counts[at];
        isq[at] = 1.0 / std::sqrt(counts[at]);
    }
};

template <bool bernoulli>
void play_ucb1(const Run& run, double alpha) {
    const int64_t n = run.n_arms;
    Tallies arms(n);
    const auto choose = [&](int64_t t) -> int64_t {
        if (t < n) return t;
        const double x = std::sqrt(alpha * std::log(static_cast<double>(t)));
        const double *means = arms.means.data(), *isq = arms.isq.data();
        double highest = -std::numeric_limits<double>::infinity();
        int64_t best = 0;
        for (int64_t i = 0; i < n; ++i) {
            const double value = means[i] + x * isq[i];
            if (value > highest) highest = value, best = i;
        }
        return best;
    };
    play<bernoulli>(run, choose, [&](int64_t arm, double reward) { arms.add(arm, reward); });
}

template <bool bernoulli>
void play_csi(const Run& run, double alpha, const int64_t* starts, const int64_t* members,
              int64_t n_classes) {
    const int64_t n = run.n_arms;
    Tallies arms(n), classes(n_classes);
    std::vector<int64_t> class_of(n);
    for (int64_t c = 0; c < n_classes; ++c) {
        for (int64_t place = starts[c]; place < starts[c + 1]; ++place) class_of[members[place]] = c;
    }
    const auto choose = [&](int64_t t) -> int64_t {
        if (t < n) return t;
        const double x = std::sqrt(alpha * std::log(static_cast<double>(t)));
        double highest = -std::numeric_limits<double>::infinity();
        int64_t chosen = 0;
        for (int64_t c = 0; c < n_classes; ++c) {
            const double value = classes.means[c] + x * classes.isq[c];
            if (value > highest) highest = value, chosen = c;
        }
        highest = -std::numeric_limits<double>::infinity();
        int64_t best = members[starts[chosen]];
        for (int64_t place = starts[chosen]; place < starts[chosen + 1]; ++place) {
            const int64_t i = members[place];
            const double value = arms.means[i] + x * arms.isq[i];
            if (value > highest) highest = value, best = i;
        }
        return best;
    };
    play<bernoulli>(run, choose, [&](int64_t arm, double reward) {
        arms.add(arm, reward);
        classes.add(class_of[arm], reward);
    });
}

template <bool bernoulli>
void play_ts(const Run& run) {
    struct Posterior {
        double wins = 2.0 / 3.0, win_width = 1.0 / std::sqrt(6.0);
        double losses = 2.0 / 3.0, loss_width = 1.0 / std::sqrt(6.0);
    };
    const int64_t n = run.n_arms;
    std::vector<Posterior> arms(n);
    constexpr uint64_t choice = 2, toss = 4;  // purposes
    int64_t now = 0;
    const auto breadth = [](double depth) { return 1.0 / std::sqrt(9.0 * (depth + 1.0 / 3.0 - 1.0 / 3.0)); };
    const auto choose = [&](int64_t round) {
        Generator local(run.policy_key, round, choice);
        now = round;
        double highest = -1.0;
        int64_t best = 0;
        for (int64_t i = 0; i < n; ++i) {
            const double x = local.gamma(arms[i].wins, arms[i].win_width);
            const double y = local.gamma(arms[i].losses, arms[i].loss_width);
            const double value = x / (x + y);
            if (value > highest) highest = value, best = i;
        }
        return best;
    };
    play<bernoulli>(run, choose, [&](int64_t at, double reward) {
        const bool won =
            reward >= 1.0 || (reward > 0.0 && Generator(run.policy_key, now, toss).uniform() < reward);
        Posterior& arm = arms[at];
        if (won) {
            arm.wins += 1.0;
            arm.win_width = breadth(arm.wins);
        } else {
            arm.losses += 1.0;
            arm.loss_width = breadth(arm.losses);
        }
    });
}

}  // namespace

extern "C" {

void set_ziggurat(const double* widths, const double* insides, const double* heights) {
    for (int layer = 0; layer < 256; ++layer) width[layer] = widths[layer], inside[layer] = insides[layer];
    for (int layer = 0; layer < 257; ++layer) height[layer] = heights[layer];
}

void ucb1(const Run* run, bool bernoulli, double alpha, const int64_t*, const int64_t*, int64_t) {
    bernoulli ? play_ucb1<true>(*run, alpha) : play_ucb1<false>(*run, alpha);
}

void lsdt_csi(const Run* run, bool bernoulli, double alpha, const int64_t* starts, const int64_t* members,
              int64_t n_classes) {
    bernoulli ? play_csi<true>(*run, alpha, starts, members, n_classes)
              : play_csi<false>(*run, alpha, starts, members, n_classes);
}

void ts(const Run* run, bool bernoulli, double, const int64_t*, const int64_t*, int64_t) {
    bernoulli ? play_ts<true>(*run) : play_ts<false>(*run);
}
}
