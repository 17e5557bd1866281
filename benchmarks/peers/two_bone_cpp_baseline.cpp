// Two bones in closed form, as one would write it in C++ for one leg and many targets: bend by the law of cosines, aim,
// turn about the chord so that the thigh comes nearest to where it is posed. Ball joints, no limits, no checks.
#include <cmath>

struct Vec { double x, y, z; };
struct Quat { double w, x, y, z; };

// What no target changes; vectors in the frame that the hip turns in.
struct Limb {
    Vec hip;
    Quat turn;  // world to limb frame
    Vec thigh, still, across, around;
    double shortest2, longest2, gain;
    double cosine, sine;  // of half the angle from the posed to the straight knee
    Vec knee;             // the knee's axis in its own frame
    Quat first, middle;   // posed
};

static inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline Vec operator*(double k, Vec a) { return {k * a.x, k * a.y, k * a.z}; }
static inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline Vec cross(Vec a, Vec b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline Quat operator*(Quat a, Quat b) {
    return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z, a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x};
}
static inline Vec rotate(Quat q, Vec v) {
    Vec u{q.x, q.y, q.z}, t = 2.0 * cross(u, v);
    return v + q.w * t + cross(u, t);
}
static inline Quat normalised(Quat q) {
    double k = 1.0 / std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return {k * q.w, k * q.x, k * q.y, k * q.z};
}
static inline double clamped(double x) { return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x; }

static inline void solve(const Limb &limb, const double *target, double *q) {
    Vec r = rotate(limb.turn, Vec{target[0], target[1], target[2]} - limb.hip);
    double d2 = dot(r, r);
    double s = std::sqrt(clamped((limb.longest2 - d2) * limb.gain));
    double c = std::sqrt(clamped((d2 - limb.shortest2) * limb.gain));
    Vec chord = limb.still + (c * c - s * s) * limb.across + (2.0 * c * s) * limb.around;
    double lengths = std::sqrt(dot(chord, chord) * d2);
    Vec turn = cross(chord, r);
    Quat arc = normalised({lengths + dot(chord, r), turn.x, turn.y, turn.z});
    Vec a = (1.0 / std::sqrt(d2)) * r;
    Vec p = rotate(arc, limb.thigh);
    p = p - dot(p, a) * a;
    Vec n = limb.thigh - dot(limb.thigh, a) * a;
    double both = std::sqrt(dot(p, p) * dot(n, n)), along = dot(p, n), sine = dot(a, cross(p, n));
    double w = along >= 0.0 ? both + along : sine, z = along >= 0.0 ? sine : both - along;
    Quat first = normalised(Quat{w, z * a.x, z * a.y, z * a.z} * arc) * limb.first;
    double kc = limb.cosine * c - limb.sine * s, ks = limb.sine * c + limb.cosine * s;
    Quat middle = Quat{kc, ks * limb.knee.x, ks * limb.knee.y, ks * limb.knee.z} * limb.middle;
    q[0] = first.w, q[1] = first.x, q[2] = first.y, q[3] = first.z;
    q[4] = middle.w, q[5] = middle.x, q[6] = middle.y, q[7] = middle.z;
    q[8] = 1.0, q[9] = 0.0, q[10] = 0.0, q[11] = 0.0;
}

extern "C" void baseline(const Limb *limb, const double *targets, long count, double *q) {
    for (long i = 0; i < count; i++) solve(*limb, targets + 3 * i, q + 12 * i);
}
