// FABRIK as one would write it by hand in C++: points, sweeps, local rotations at the end. The baseline for
// fabrik_cpp_baseline.py. Bones hang on each other along +Y at rest; the chain starts from the points that are given.

#include <cmath>
#include <vector>

namespace {

struct Vec {
  double x, y, z;
};

struct Quat {
  double w, x, y, z;
};

inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator*(double k, Vec a) { return {k * a.x, k * a.y, k * a.z}; }
inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
inline double norm(Vec a) { return std::sqrt(dot(a, a)); }
inline Quat inverse(Quat q) { return {q.w, -q.x, -q.y, -q.z}; }

inline Quat operator*(Quat a, Quat b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

inline Vec rotate(Quat q, Vec v) {
  const Vec u{q.x, q.y, q.z};
  const Vec t = 2.0 * cross(u, v);
  return v + q.w * t + cross(u, t);
}

inline Quat between(Vec a, Vec b) {
  const double lengths = std::sqrt(dot(a, a) * dot(b, b));
  const Vec c = cross(a, b);
  Quat q{lengths + dot(a, b), c.x, c.y, c.z};
  const double k = 1.0 / std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  return {k * q.w, k * q.x, k * q.y, k * q.z};
}

// The point at `length` from the anchor towards p.
inline Vec along(Vec anchor, Vec p, double length) {
  const Vec way = p - anchor;
  return anchor + (length / norm(way)) * way;
}

double sweep(int n, const double* lengths, Vec target, Vec* points) {
  points[n] = target;
  for (int i = n - 1; i > 0; i--) points[i] = along(points[i + 1], points[i], lengths[i]);
  for (int i = 0; i < n; i++) points[i + 1] = along(points[i], points[i + 1], lengths[i]);
  return norm(points[n] - target);
}

}  // namespace

// For each of m targets at most `sweeps` sweeps from `start` (n + 1 points); rotations (m, n, 4) come out, how many
// sweeps there were and what is left.
extern "C" void fabrik(int n, const double* lengths, const double* start, const double* targets, int m, int sweeps,
                       double tolerance, double* rotations, int* counts, double* left) {
  std::vector<Vec> points(n + 1);
  const Vec* from = reinterpret_cast<const Vec*>(start);
  for (int k = 0; k < m; k++) {
    const Vec target{targets[3 * k], targets[3 * k + 1], targets[3 * k + 2]};
    for (int i = 0; i <= n; i++) points[i] = from[i];
    double error = norm(points[n] - target);
    int count = 0;
    while (error > tolerance && count < sweeps) {
      error = sweep(n, lengths, target, points.data());
      count++;
    }
    Quat turned{1, 0, 0, 0};
    Quat* out = reinterpret_cast<Quat*>(rotations) + k * n;
    for (int i = 0; i < n; i++) {
      out[i] = between({0, lengths[i], 0}, rotate(inverse(turned), points[i + 1] - points[i]));
      turned = turned * out[i];
    }
    counts[k] = count;
    left[k] = error;
  }
}
