// Yardstick: cyclic coordinate descent in plain C++, tip to base, for chains of ball joints and ranged hinges.
// It runs a fixed number of sweeps, so that time divided by sweeps is the cost of one.
//
// A joint turns in its parent's frame; its link's offset is fixed in its own frame. Per sweep the frames are
// worked out once. Turning a joint moves everything from it to the tip as one rigid piece, so the tip is
// simply carried along.
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Vec { double x, y, z; };
struct Quat { double w, x, y, z; };
enum Kind { kHinge = 1, kBall = 3 };

inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator*(double s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

inline Quat operator*(Quat a, Quat b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
inline Quat inverse(Quat q) { return {q.w, -q.x, -q.y, -q.z}; }
inline Quat unit(Quat q) {
  const double s = 1.0 / std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  return {s * q.w, s * q.x, s * q.y, s * q.z};
}
inline Vec rotate(Quat q, Vec v) {
  const Vec u{q.x, q.y, q.z};
  const Vec t = 2.0 * cross(u, v);
  return v + q.w * t + cross(u, t);
}
inline Quat about(Vec axis, double angle) {
  const double s = std::sin(0.5 * angle);
  return {std::cos(0.5 * angle), s * axis.x, s * axis.y, s * axis.z};
}

// Shortest turn from a to b; none where it is not defined.
inline Quat between(Vec a, Vec b) {
  const double lengths = std::sqrt(dot(a, a) * dot(b, b));
  const double w = lengths + dot(a, b);
  if (!(w > 1e-12 * lengths)) return {1, 0, 0, 0};
  const Vec c = cross(a, b);
  return unit({w, c.x, c.y, c.z});
}

// The hinge angle that brings the tip nearest to the target, kept in its range.
// a: axis, h: joint to tip, d: joint to target, all in the world; angle: where the hinge is now.
inline double hinge_angle(Vec a, Vec h, Vec d, double angle, double low, double high) {
  const double cosine = dot(h, d) - dot(h, a) * dot(d, a);
  const double sine = dot(a, cross(h, d));
  double best = angle + std::atan2(sine, cosine);
  if (best > M_PI) best -= 2 * M_PI;
  if (best < -M_PI) best += 2 * M_PI;
  return std::clamp(best, low, high);
}

struct Chain {
  int n;
  const int* kinds;
  const Vec* axes;
  const double* ranges;  // low, high per joint
  const Vec* offsets;    // joint to the next joint, the last one to the tip
};

struct State {
  std::vector<Quat> local, world;
  std::vector<Vec> origin;
  std::vector<double> angle;
  explicit State(int n) : local(n), world(n), origin(n), angle(n) {}
};

Vec forward(const Chain& c, State& s) {
  Quat turned{1, 0, 0, 0};
  Vec at{0, 0, 0};
  for (int i = 0; i < c.n; i++) {
    turned = turned * s.local[i];
    s.world[i] = turned;
    s.origin[i] = at;
    at = at + rotate(turned, c.offsets[i]);
  }
  return at;
}

Vec sweep(const Chain& c, State& s, Vec tip, Vec target) {
  for (int i = c.n - 1; i >= 0; i--) {
    const Quat parent = i ? s.world[i - 1] : Quat{1, 0, 0, 0};
    const Vec h = tip - s.origin[i], d = target - s.origin[i];
    Quat step;
    if (c.kinds[i] == kHinge) {
      const Vec axis = rotate(parent, c.axes[i]);
      const double angle = hinge_angle(axis, h, d, s.angle[i], c.ranges[2 * i], c.ranges[2 * i + 1]);
      step = about(axis, angle - s.angle[i]);
      s.angle[i] = angle;
      s.local[i] = about(c.axes[i], angle);
    } else {
      step = between(h, d);
      s.local[i] = unit(inverse(parent) * (step * s.world[i]));
    }
    tip = s.origin[i] + rotate(step, h);
  }
  return forward(c, s);
}

}  // namespace

// Runs `sweeps` sweeps for each of m targets from the zero pose; left[k] is the distance that remains.
extern "C" void baseline(int n, const int* kinds, const double* axes, const double* ranges, const double* offsets,
                          const double* targets, int m, int sweeps, double* left) {
  const Chain chain{n, kinds, reinterpret_cast<const Vec*>(axes), ranges, reinterpret_cast<const Vec*>(offsets)};
  State state(n);
  for (int k = 0; k < m; k++) {
    std::fill(state.local.begin(), state.local.end(), Quat{1, 0, 0, 0});
    std::fill(state.angle.begin(), state.angle.end(), 0.0);
    const Vec target{targets[3 * k], targets[3 * k + 1], targets[3 * k + 2]};
    Vec tip = forward(chain, state);
    for (int i = 0; i < sweeps; i++) tip = sweep(chain, state, tip, target);
    left[k] = std::sqrt(dot(tip - target, tip - target));
  }
}
