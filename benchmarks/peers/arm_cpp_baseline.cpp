// Yardstick: a serial arm of hinges in plain C++, for one problem at a time and for 4 or 8 side by side.
//
// One source serves all of them: T is a double or a vector of doubles, a problem in each lane. The number of joints
// is known when this is compiled, so that every loop over joints, rows and columns is unrolled. Rotations are
// quaternions or matrices; the benchmark measures both and takes the faster one.
#include <cmath>
#include <cstdint>
#ifndef __clang__
#include <immintrin.h>
#endif

#ifndef JOINTS
#define JOINTS 7
#endif
#define INLINE inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

namespace {

constexpr int N = JOINTS;
typedef double Lanes4 __attribute__((vector_size(32)));
typedef double Lanes8 __attribute__((vector_size(64)));
template <class T> constexpr int kWidth = sizeof(T) / sizeof(double);

// --- numbers and lanes ---------------------------------------------------------------------------------------------

template <class T> INLINE T fill(double number) { return T{} + number; }
template <class T> INLINE T smaller(T a, T b) { return a < b ? a : b; }
template <class T> INLINE T larger(T a, T b) { return a > b ? a : b; }
template <class Mask> INLINE bool any(Mask mask) {
  int64_t some = 0;
  for (int l = 0; l < int(sizeof(Mask) / sizeof(int64_t)); l++) some |= mask[l];
  return some != 0;
}
template <class Mask> INLINE bool lane(Mask mask, int l) { return mask[l] != 0; }
INLINE double nearest(double x) { return __builtin_rint(x); }
INLINE double root(double x) { return __builtin_sqrt(x); }
#ifdef __clang__
template <class T> INLINE T nearest(T x) { return __builtin_elementwise_roundeven(x); }
template <class T> INLINE T root(T x) { return __builtin_elementwise_sqrt(x); }
#else
INLINE Lanes4 nearest(Lanes4 x) { return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE Lanes4 root(Lanes4 x) { return _mm256_sqrt_pd(x); }
#ifdef __AVX512F__
INLINE Lanes8 nearest(Lanes8 x) { return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE Lanes8 root(Lanes8 x) { return _mm512_sqrt_pd(x); }
#endif
#endif

// Sine and cosine of x / 2, perhaps both negated: a rotation's quaternion and its negative are the same.
template <class T> INLINE void half_turn(T x, T& s, T& c) {
  const T turns = nearest(x * 0.15915494309189535);
  const T r = (x * 0.5 - turns * 3.141592653589793) - turns * 1.2246467991473532e-16;
  const T z = r * r;
  T ps = z * 2.7314368769379893e-15 - 7.643969663988074e-13;
  ps = (ps * z + 1.6058977292642743e-10) * z - 2.505210761669045e-08;
  ps = (ps * z + 2.7557319219160833e-06) * z - 1.9841269841254966e-04;
  ps = (ps * z + 8.333333333333316e-03) * z - 1.6666666666666666e-01;
  T pc = z * 4.6464228378080794e-14 - 1.1466251369215444e-11;
  pc = (pc * z + 2.087668153639063e-09) * z - 2.7557318573107296e-07;
  pc = (pc * z + 2.480158729891222e-05) * z - 1.3888888888884765e-03;
  pc = pc * z + 4.166666666666666e-02;
  s = r + r * z * ps;
  c = 1.0 - z * 0.5 + z * z * pc;
}

// --- the arm, and rotations ----------------------------------------------------------------------------------------

struct Link {
  double x, y, z;           // from the moved frame before
  double quaternion[4];     // w x y z
  double matrix[3][3];
  double low, high;
};

struct Arm {
  Link links[N + 1];  // the last one leads to the tip

  // rows: (N + 1, 10) x y z, w x y z, low, high, unused
  explicit Arm(const double* rows) {
    for (int i = 0; i <= N; i++) {
      const double* r = rows + 10 * i;
      const double w = r[3], x = r[4], y = r[5], z = r[6];
      links[i] = {r[0], r[1], r[2], {w, x, y, z},
                  {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                   {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                   {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}},
                  r[7], r[8]};
    }
  }
};

template <class T> struct Vec { T x, y, z; };
template <class T> INLINE Vec<T> operator-(Vec<T> a, Vec<T> b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
template <class T> INLINE T square(Vec<T> a) { return a.x * a.x + a.y * a.y + a.z * a.z; }
template <class T> INLINE Vec<T> cross(Vec<T> a, Vec<T> b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

template <class T> struct Quaternion {
  static constexpr int kNumbers = 4;
  T w, x, y, z;

  static INLINE Quaternion of(const Link& l) {
    return {fill<T>(l.quaternion[0]), fill<T>(l.quaternion[1]), fill<T>(l.quaternion[2]), fill<T>(l.quaternion[3])};
  }
  static INLINE Quaternion read(const T* q) { return {q[0], q[1], q[2], q[3]}; }
  INLINE void write(T* q) const { q[0] = w, q[1] = x, q[2] = y, q[3] = z; }
  INLINE Vec<T> axis() const { return {2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)}; }
  INLINE Vec<T> offset(const Link& l) const {
    const T tx = 2.0 * (y * l.z - z * l.y), ty = 2.0 * (z * l.x - x * l.z), tz = 2.0 * (x * l.y - y * l.x);
    return {l.x + w * tx + y * tz - z * ty, l.y + w * ty + z * tx - x * tz, l.z + w * tz + x * ty - y * tx};
  }
  INLINE Quaternion then(const Link& l) const {
    const double* q = l.quaternion;
    return {w * q[0] - x * q[1] - y * q[2] - z * q[3], w * q[1] + x * q[0] + y * q[3] - z * q[2],
            w * q[2] + y * q[0] + z * q[1] - x * q[3], w * q[3] + z * q[0] + x * q[2] - y * q[1]};
  }
  INLINE Quaternion turned(T angle) const {  // about its own z
    T s, c;
    half_turn(angle, s, c);
    return {w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s};
  }
  INLINE Vec<T> error(Quaternion to) const {  // 2 sin(angle / 2) times the axis of what is left to `to`
    const T c = to.w * w + to.x * x + to.y * y + to.z * z;
    const T k = c < 0.0 ? fill<T>(-2.0) : fill<T>(2.0);
    return {k * (to.x * w - to.w * x + to.z * y - to.y * z), k * (to.y * w - to.w * y + to.x * z - to.z * x),
            k * (to.z * w - to.w * z + to.y * x - to.x * y)};
  }
};

template <class T> struct Matrix {
  static constexpr int kNumbers = 9;
  T m[3][3];

  static INLINE Matrix of(const Link& l) {
    Matrix out;
    UNROLL for (int r = 0; r < 3; r++) UNROLL for (int k = 0; k < 3; k++) out.m[r][k] = fill<T>(l.matrix[r][k]);
    return out;
  }
  static INLINE Matrix read(const T* q) {
    return {{{q[0], q[1], q[2]}, {q[3], q[4], q[5]}, {q[6], q[7], q[8]}}};
  }
  INLINE void write(T* q) const {
    UNROLL for (int i = 0; i < 9; i++) q[i] = m[i / 3][i % 3];
  }
  INLINE Vec<T> axis() const { return {m[0][2], m[1][2], m[2][2]}; }
  INLINE T along(int r, double x, double y, double z) const { return m[r][0] * x + m[r][1] * y + m[r][2] * z; }
  INLINE Vec<T> offset(const Link& l) const {
    return {along(0, l.x, l.y, l.z), along(1, l.x, l.y, l.z), along(2, l.x, l.y, l.z)};
  }
  INLINE Matrix then(const Link& l) const {
    const auto& f = l.matrix;
    Matrix out;
    UNROLL for (int i = 0; i < 9; i++) out.m[i / 3][i % 3] = along(i / 3, f[0][i % 3], f[1][i % 3], f[2][i % 3]);
    return out;
  }
  INLINE Matrix turned(T angle) const {
    T s, c;
    half_turn(angle, s, c);
    const T sine = 2.0 * (s * c), cosine = 1.0 - 2.0 * (s * s);
    Matrix out;
    UNROLL for (int r = 0; r < 3; r++) {
      out.m[r][0] = m[r][0] * cosine + m[r][1] * sine;
      out.m[r][1] = m[r][1] * cosine - m[r][0] * sine;
      out.m[r][2] = m[r][2];
    }
    return out;
  }
  INLINE Vec<T> error(const Matrix& to) const {  // not good for half a turn, where it vanishes
    T e[3][3];
    UNROLL for (int r = 0; r < 3; r++)
      UNROLL for (int k = 0; k < 3; k++)
        e[r][k] = to.m[r][0] * m[k][0] + to.m[r][1] * m[k][1] + to.m[r][2] * m[k][2];
    const T ww = larger(0.25 * (e[0][0] + e[1][1] + e[2][2] + 1.0), fill<T>(1e-8));
    const T k = 0.5 / root(ww);
    return {(e[2][1] - e[1][2]) * k, (e[0][2] - e[2][0]) * k, (e[1][0] - e[0][1]) * k};
  }
};

// --- forward kinematics, and one damped step -----------------------------------------------------------------------

template <class T, class Turn> struct Place { Vec<T> at; Turn turn; };

template <class T, class Turn>
INLINE Place<T, Turn> forward(const Arm& arm, const T* x, Vec<T>* axes, Vec<T>* origins) {
  const Link& first = arm.links[0];
  Vec<T> at{fill<T>(first.x), fill<T>(first.y), fill<T>(first.z)};
  Turn turn = Turn::of(first);
  UNROLL for (int i = 0; i < N; i++) {
    axes[i] = turn.axis();
    origins[i] = at;
    turn = turn.turned(x[i]);
    const Vec<T> step = turn.offset(arm.links[i + 1]);
    at = {at.x + step.x, at.y + step.y, at.z + step.z};
    turn = turn.then(arm.links[i + 1]);
  }
  return {at, turn};
}

// Solve the symmetric 6 x 6 system by L D L^T; only the lower triangle is read.
template <class T> INLINE void solve_six(T (&A)[6][6], const T (&b)[6], T (&y)[6]) {
  T inverse[6];
  UNROLL for (int k = 0; k < 6; k++) {
    inverse[k] = 1.0 / A[k][k];
    UNROLL for (int r = k + 1; r < 6; r++) {
      const T share = A[r][k] * inverse[k];
      UNROLL for (int j = k + 1; j <= r; j++) A[r][j] -= share * A[j][k];
    }
    UNROLL for (int r = k + 1; r < 6; r++) A[r][k] *= inverse[k];
  }
  UNROLL for (int r = 0; r < 6; r++) {
    y[r] = b[r];
    UNROLL for (int j = 0; j < r; j++) y[r] -= A[r][j] * y[j];
  }
  UNROLL for (int r = 5; r >= 0; r--) {
    y[r] *= inverse[r];
    UNROLL for (int j = r + 1; j < 6; j++) y[r] -= A[j][r] * y[j];
  }
}

// x += J^T (J J^T + damping I)^-1 e, kept in the limits; what a limit holds takes no part.
template <class T>
INLINE void damped_step(const Arm& arm, T* x, const Vec<T>* axes, const Vec<T>* origins, Vec<T> tip, const T (&e)[6],
                        T damping) {
  T J[N][6], A[6][6], y[6];
  UNROLL for (int r = 0; r < 6; r++) UNROLL for (int k = 0; k <= r; k++) A[r][k] = r == k ? damping : T{};
  UNROLL for (int i = 0; i < N; i++) {
    const Link& link = arm.links[i];
    const Vec<T> v = cross(axes[i], tip - origins[i]), w = axes[i];
    const T push = v.x * e[0] + v.y * e[1] + v.z * e[2] + w.x * e[3] + w.y * e[4] + w.z * e[5];
    const auto stuck = ((x[i] <= link.low) & (push < 0.0)) | ((x[i] >= link.high) & (push > 0.0));
    const T free = stuck ? T{} : fill<T>(1.0);
    J[i][0] = v.x * free, J[i][1] = v.y * free, J[i][2] = v.z * free;
    J[i][3] = w.x * free, J[i][4] = w.y * free, J[i][5] = w.z * free;
    UNROLL for (int r = 0; r < 6; r++) UNROLL for (int k = 0; k <= r; k++) A[r][k] += J[i][r] * J[i][k];
  }
  solve_six(A, e, y);
  UNROLL for (int i = 0; i < N; i++) {
    T step = J[i][0] * y[0];
    UNROLL for (int r = 1; r < 6; r++) step += J[i][r] * y[r];
    x[i] = smaller(larger(x[i] + step, fill<T>(arm.links[i].low)), fill<T>(arm.links[i].high));
  }
}

template <class T> struct Left { T distance, angle; };  // squares, the second of 2 sin(angle / 2)

// One iteration: place the tip, see what is left of the way to the target (3 + kNumbers values), take a step.
template <class T, class Turn>
INLINE Left<T> iterate(const Arm& arm, const T* target, T* x, double factor, double floor) {
  Vec<T> axes[N], origins[N];
  const Place<T, Turn> tip = forward<T, Turn>(arm, x, axes, origins);
  const Vec<T> off = Vec<T>{target[0], target[1], target[2]} - tip.at;
  const Vec<T> turn = tip.turn.error(Turn::read(target + 3));
  const T e[6] = {off.x, off.y, off.z, turn.x, turn.y, turn.z};
  const Left<T> left{square(off), square(turn)};
  damped_step(arm, x, axes, origins, tip.at, e, (left.distance + left.angle) * factor + floor);
  return left;
}

// --- many problems -------------------------------------------------------------------------------------------------

// Arrays of blocks hold lane by lane what kWidth problems share: number j of lane l in block b stands at
// (b * numbers + j) * kWidth + l. Blocks are kept apart, or the compiler would put single problems side by side too.
#define NEXT_BLOCK asm volatile("" ::: "memory")

template <class T, class Turn> void fk(const double* links, const double* x, int blocks, double* out) {
  const Arm arm(links);
  for (int b = 0; b < blocks; b++) {
    Vec<T> axes[N], origins[N];
    const Place<T, Turn> tip = forward<T, Turn>(arm, reinterpret_cast<const T*>(x) + b * N, axes, origins);
    T* place = reinterpret_cast<T*>(out) + b * (3 + Turn::kNumbers);
    place[0] = tip.at.x, place[1] = tip.at.y, place[2] = tip.at.z;
    tip.turn.write(place + 3);
    NEXT_BLOCK;
  }
}

template <class T, class Turn>
void lm(const double* links, const double* targets, const double* x, int blocks, double factor, double floor,
        double* out) {
  const Arm arm(links);
  for (int b = 0; b < blocks; b++) {
    T values[N];
    UNROLL for (int i = 0; i < N; i++) values[i] = reinterpret_cast<const T*>(x)[b * N + i];
    const T* target = reinterpret_cast<const T*>(targets) + b * (3 + Turn::kNumbers);
    iterate<T, Turn>(arm, target, values, factor, floor);
    UNROLL for (int i = 0; i < N; i++) reinterpret_cast<T*>(out)[b * N + i] = values[i];
    NEXT_BLOCK;
  }
}

struct Settings {
  double distance, angle;  // squares of what counts as reached
  double factor, floor;    // of the damping
  int64_t iterations, restarts, candidates, seeds;
};

// Of `candidates` seeds (values, then x y z w x y z of their tip), the one that puts the tip nearest to the target.
const double* best_seed(const double* seeds, const Settings& set, int64_t first, const double* target) {
  const double* best = nullptr;
  double least = HUGE_VAL;
  for (int64_t c = 0; c < set.candidates; c++) {
    const double* seed = seeds + (first + c) % set.seeds * (N + 7);
    double away = 0, cosine = 0;
    for (int j = 0; j < 3; j++) away += (seed[N + j] - target[j]) * (seed[N + j] - target[j]);
    for (int j = 3; j < 7; j++) cosine += seed[N + j] * target[j];
    const double cost = away + 4 * (1 - cosine * cosine);
    if (cost < least) least = cost, best = seed;
  }
  return best;
}

// A problem per lane; a lane that is done takes the next one. An attempt ends after 4 iterations that take less than a
// fifth off the squared error, and goes on from a seed. targets (count, 7), start (N), x (count, N), reached (count).
template <class T>
void solve(const double* links, const double* seeds, const double* targets, const double* start, int64_t count,
           const Settings& set, double* x, int64_t* reached, int64_t* iterations) {
  constexpr int W = kWidth<T>;
  const Arm arm(links);
  T values[N], before[N], target[7], best, stall, spent;
  int64_t problem[W], attempt[W], next = 0, live = 0;
  const auto number = [](T& value, int l) -> double& { return reinterpret_cast<double*>(&value)[l]; };
  const auto begin = [&](int l, const double* from) {
    for (int i = 0; i < N; i++) number(values[i], l) = from[i];
    number(best, l) = HUGE_VAL, number(stall, l) = 0, number(spent, l) = 0;
  };
  const auto take = [&](int l) {
    problem[l] = next < count ? next++ : -1;
    attempt[l] = 0;
    if (problem[l] < 0) return;
    for (int j = 0; j < 7; j++) number(target[j], l) = targets[7 * problem[l] + j];
    iterations[problem[l]] = 0;
    begin(l, start);
    live++;
  };
  for (int l = 0; l < W; l++) {
    for (int j = 0; j < 7; j++) number(target[j], l) = targets[j];
    begin(l, start);
    take(l);
  }
  while (live > 0) {
    UNROLL for (int i = 0; i < N; i++) before[i] = values[i];
    const Left<T> left = iterate<T, Quaternion<T>>(arm, target, values, set.factor, set.floor);
    const T error = left.distance + left.angle;
    const auto met = (left.distance <= set.distance) & (left.angle <= set.angle);
    stall = error > best * 0.8 ? stall + 1.0 : T{};
    best = smaller(best, error);
    const auto ends = met | (stall >= 4.0) | (spent >= fill<T>(double(set.iterations)));
    spent += 1.0;
    if (!any(ends)) continue;
    for (int l = 0; l < W; l++) {
      const int64_t k = problem[l];
      if (!lane(ends, l) || k < 0) continue;
      iterations[k] += int64_t(number(spent, l)) - 1;
      if (!lane(met, l) && attempt[l]++ < set.restarts) {
        begin(l, best_seed(seeds, set, (attempt[l] - 1) * set.candidates, targets + 7 * k));
        continue;
      }
      for (int i = 0; i < N; i++) x[N * k + i] = number(before[i], l);
      reached[k] = lane(met, l);
      live--;
      take(l);
    }
  }
}

}  // namespace

#define EXPORT(NAME, T, TURN)                                                                                     \
  extern "C" void fk_##NAME(const double* links, const double* x, int blocks, double* out) {                      \
    fk<T, TURN<T>>(links, x, blocks, out);                                                                        \
  }                                                                                                               \
  extern "C" void lm_##NAME(const double* links, const double* targets, const double* x, int blocks,              \
                            double factor, double floor, double* out) {                                           \
    lm<T, TURN<T>>(links, targets, x, blocks, factor, floor, out);                                                \
  }
#define EXPORT_SOLVE(NAME, T)                                                                                     \
  extern "C" void solve_##NAME(const double* links, const double* seeds, const double* targets,                   \
                               const double* start, int64_t count, const Settings* set, double* x,                \
                               int64_t* reached, int64_t* iterations) {                                           \
    solve<T>(links, seeds, targets, start, count, *set, x, reached, iterations);                                  \
  }

EXPORT(quaternion_1, double, Quaternion)
EXPORT(matrix_1, double, Matrix)
EXPORT(quaternion_4, Lanes4, Quaternion)
EXPORT(matrix_4, Lanes4, Matrix)
EXPORT_SOLVE(4, Lanes4)
#if defined(__clang__) || defined(__AVX512F__)
EXPORT(quaternion_8, Lanes8, Quaternion)
EXPORT(matrix_8, Lanes8, Matrix)
EXPORT_SOLVE(8, Lanes8)
#endif
