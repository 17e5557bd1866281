/* Mathematical functions of the level `portable`: the same bits on every processor and system.

   Only IEEE operations that every target rounds alike are used: + - * / sqrt. The build forbids fused operations
   (-ffp-contract=off). Results are within three units in the last place; angles above 2^50 rad count as 0.

   Series are Taylor's on intervals so short that their remainder is below 2^-60 of the result. */

#include <stdint.h>

#define SQRT __builtin_sqrt
#define ABS __builtin_fabs
#define COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

static const double INFINITE = __builtin_inf(), NOT_A_NUMBER = __builtin_nan("");

/* --- Bits and pairs ----------------------------------------------------------------------------------------------- */

typedef struct {
    double high, low; /* a value of 106 bits: the sum of both */
} Pair;

static uint64_t read_bits(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

static int is_negative(double x) { return read_bits(x) >> 63; }

static double copy_sign(double magnitude, double x) { return is_negative(x) ? -magnitude : magnitude; }

/* Round to the nearest integer. |x| <= 2^50: adding 1.5 * 2^52 leaves no fractional bits. */
static double round_to_integer(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/* Multiply by 2^n, rounding once. |n| <= 2100. */
static double scale(double x, int n) {
    while (n > 1000) x *= 0x1p1000, n -= 1000;
    while (n < -1000) x *= 0x1p-1000, n += 1000;
    return x * from_bits((uint64_t)(n + 1023) << 52);
}

static Pair add_exactly(double a, double b) { /* Knuth's two-sum */
    double sum = a + b, shifted = sum - a;
    return (Pair){ sum, (a - (sum - shifted)) + (b - shifted) };
}

static Pair split(double x) { /* Veltkamp: halves of 26 bits */
    double scaled = 0x1.0000002p27 * x, high = scaled - (scaled - x);
    return (Pair){ high, x - high };
}

static Pair multiply_exactly(double a, double b) { /* Dekker's product */
    Pair x = split(a), y = split(b);
    double product = a * b;
    double error = ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low;
    return (Pair){ product, error };
}

static double sum_series(double z, const double *coefficients, int count) { /* Horner; the highest power first */
    double sum = coefficients[0];
    for (int i = 1; i < count; i++) sum = sum * z + coefficients[i];
    return sum;
}

/* --- Sine and cosine ---------------------------------------------------------------------------------------------- */

/* pi / 2 in three parts; products of the first two with integers below 2^20 are exact. */
static const double HALF_PI_33_BITS = 0x1.921fb544p+0, HALF_PI_NEXT_33_BITS = 0x1.0b4611a6p-34,
                    HALF_PI_REST = 0x1.3198a2e037073p-69;
/* pi / 2 in three parts of 53 bits, for greater angles. */
static const double HALF_PI_1 = 0x1.921fb54442d18p+0, HALF_PI_2 = 0x1.1a62633145c07p-54,
                    HALF_PI_3 = -0x1.f1976b7ed8fbcp-110;
static const double INVERSE_HALF_PI = 0x1.45f306dc9c883p-1;
static const double MAX_EXACT_QUARTERS = 0x1p20, MAX_ANGLE = 0x1p50; /* [rad] */

/* Reduce an angle to at most pi / 4 and return the number of quarter turns taken off, modulo 4.

   Beyond MAX_ANGLE adjacent numbers lie a quarter of a radian apart or more: such an angle counts as 0. */
static int reduce_angle(double x, Pair *rest) {
    if (!(ABS(x) < MAX_ANGLE)) {
        *rest = (Pair){ 0, 0 };
        return 0;
    }
    double quarters = round_to_integer(x * INVERSE_HALF_PI);
    Pair first, second;
    double tail;
    if (ABS(quarters) < MAX_EXACT_QUARTERS) {
        first = (Pair){ x - quarters * HALF_PI_33_BITS, 0 };
        second = (Pair){ quarters * HALF_PI_NEXT_33_BITS, 0 };
        tail = quarters * HALF_PI_REST;
    } else {
        Pair product = multiply_exactly(quarters, HALF_PI_1);
        first = add_exactly(x - product.high, -product.low);
        second = multiply_exactly(quarters, HALF_PI_2);
        tail = quarters * HALF_PI_3;
    }
    Pair difference = add_exactly(first.high, -second.high);
    tail = difference.low + (first.low - second.low - tail);
    rest->high = difference.high + tail;
    rest->low = (difference.high - rest->high) + tail;
    return (int)((int64_t)quarters & 3);
}

static double sum_sine(Pair x) { /* |x| <= pi / 4 */
    static const double SINE[] = { 0x1p0 / 355687428096000, -0x1p0 / 1307674368000, 0x1p0 / 6227020800,
                                   -0x1p0 / 39916800,       0x1p0 / 362880,         -0x1p0 / 5040,
                                   0x1p0 / 120,             -0x1p0 / 6 };
    double z = x.high * x.high, cube = z * x.high;
    return x.high + (cube * sum_series(z, SINE, COUNT(SINE)) + x.low * (1 - 0.5 * z));
}

static double sum_cosine(Pair x) { /* |x| <= pi / 4 */
    static const double COSINE[] = { 0x1p0 / 20922789888000, -0x1p0 / 87178291200, 0x1p0 / 479001600, -0x1p0 / 3628800,
                                     0x1p0 / 40320,          -0x1p0 / 720,         0x1p0 / 24 };
    double z = x.high * x.high, half = 0.5 * z, start = 1 - half;
    return start + (((1 - start) - half) + (z * z * sum_series(z, COSINE, COUNT(COSINE)) - x.high * x.low));
}

/* Sine of an angle plus quarter turns. */
static double compute_sine(double x, int added_quarters) {
    if (x - x != 0) return NOT_A_NUMBER;
    Pair rest;
    int quarters = reduce_angle(x, &rest) + added_quarters;
    double value = quarters & 1 ? sum_cosine(rest) : sum_sine(rest);
    return quarters & 2 ? -value : value;
}

double poise_sin(double x) { return x == 0 ? x : compute_sine(x, 0); }

double poise_cos(double x) { return compute_sine(x, 1); }

/* --- Arcs --------------------------------------------------------------------------------------------------------- */

/* atan(k / 8), and the rest of each beyond 53 bits. */
static const double EIGHTH_ARCS[] = { 0,
                                      0x1.fd5ba9aac2f6ep-4,
                                      0x1.f5b75f92c80ddp-3,
                                      0x1.6f61941e4def1p-2,
                                      0x1.dac670561bb4fp-2,
                                      0x1.1e00babdefeb4p-1,
                                      0x1.4978fa3269ee1p-1,
                                      0x1.700a7c5784634p-1,
                                      0x1.921fb54442d18p-1 };
static const double EIGHTH_ARC_RESTS[] = { 0, -0x1.cd37686760c17p-59, 0x1.8ab6e3cf7afbdp-57, -0x1.c63aae6f6e918p-56, 0x1.a2b7f222f65e2p-56, -0x1.928df287a668fp-58, 0x1.2419a87f2a458p-56, -0x1.8c34d25aadef6p-56, 0x1.1a62633145c07p-55 };

/* atan(y / x) for 0 <= y <= x, both neither tiny nor huge. */
static Pair compute_arc(double y, double x) {
    static const double ARC[] = { 0x1p0 / 17, -0x1p0 / 15, 0x1p0 / 13, -0x1p0 / 11,
                                  0x1p0 / 9,  -0x1p0 / 7,  0x1p0 / 5,  -0x1p0 / 3 };
    int eighths = (int)(8 * (y / x) + 0.5);
    double c = 0.125 * eighths;
    Pair product = multiply_exactly(c, x);
    double t = ((y - product.high) - product.low) / (x + c * y), z = t * t;
    Pair sum = add_exactly(EIGHTH_ARCS[eighths], t);
    sum.low += EIGHTH_ARC_RESTS[eighths] + t * z * sum_series(z, ARC, COUNT(ARC));
    return sum;
}

double poise_atan2(double y, double x) {
    if (x != x || y != y) return NOT_A_NUMBER;
    double a = ABS(y), b = ABS(x);
    Pair arc = { 0, 0 };
    int is_steep = a > b;
    double greater = is_steep ? a : b, smaller = is_steep ? b : a;
    if (greater == INFINITE) {
        arc.high = smaller == INFINITE ? EIGHTH_ARCS[8] : 0;
    } else if (greater > 0) {
        double factor = greater > 0x1p900 ? 0x1p-200 : greater < 0x1p-700 ? 0x1p300 : 1;
        arc = compute_arc(smaller * factor, greater * factor);
    }
    if (is_steep) { /* pi / 2 - arc */
        Pair difference = add_exactly(HALF_PI_1, -arc.high);
        arc = (Pair){ difference.high, difference.low + (HALF_PI_2 - arc.low) };
    }
    if (is_negative(x)) { /* pi - arc */
        Pair difference = add_exactly(2 * HALF_PI_1, -arc.high);
        arc = (Pair){ difference.high, difference.low + (2 * HALF_PI_2 - arc.low) };
    }
    return copy_sign(arc.high + arc.low, y);
}

double poise_atan(double x) { return poise_atan2(x, 1); }

double poise_asin(double x) { return poise_atan2(x, SQRT((1 - x) * (1 + x))); }

double poise_acos(double x) { return poise_atan2(SQRT((1 - x) * (1 + x)), x); }

/* --- Exponentials ------------------------------------------------------------------------------------------------- */

static const double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33; /* products with the first are exact */
static const double INVERSE_LN2 = 0x1.71547652b82fep+0;
static const double MAX_EXPONENT = 1100; /* of 2; greater powers overflow or vanish */

/* exp(x) - 1 for |x| <= ln(2) / 2. */
static double sum_exponential(Pair x) {
    static const double SERIES[] = { 0x1p0 / 6227020800, 0x1p0 / 479001600, 0x1p0 / 39916800, 0x1p0 / 3628800,
                                     0x1p0 / 362880,     0x1p0 / 40320,     0x1p0 / 5040,     0x1p0 / 720,
                                     0x1p0 / 120,        0x1p0 / 24,        0x1p0 / 6,        0x1p0 / 2 };
    double square = x.high * x.high;
    return x.high + (square * sum_series(x.high, SERIES, COUNT(SERIES)) + (x.low + x.low * x.high));
}

/* Write x = n ln(2) + rest and return n. */
static double reduce_exponent(double x, Pair *rest) {
    double n = round_to_integer(x * INVERSE_LN2);
    *rest = add_exactly(x - n * LN2_HIGH, -n * LN2_LOW);
    return n;
}

/* exp(x.high + x.low); the second is far smaller. */
static double compute_exponential(Pair x) {
    if (x.high != x.high) return x.high;
    if (x.high > MAX_EXPONENT) return INFINITE;
    if (x.high < -MAX_EXPONENT) return 0;
    Pair rest;
    double n = reduce_exponent(x.high, &rest);
    rest = add_exactly(rest.high, rest.low + x.low);
    return scale(1 + sum_exponential(rest), (int)n);
}

double poise_exp(double x) { return compute_exponential((Pair){ x, 0 }); }

double poise_exp2(double x) {
    if (x != x) return x;
    if (x > MAX_EXPONENT) return INFINITE;
    if (x < -MAX_EXPONENT) return 0;
    double n = round_to_integer(x), rest = x - n;
    Pair product = multiply_exactly(rest, 0x1.62e42fefa39efp-1); /* ln(2) */
    product.low += rest * 0x1.abc9e3b39803fp-56;
    return scale(1 + sum_exponential(product), (int)n);
}

double poise_expm1(double x) {
    if (x != x || x == 0) return x;
    if (x > MAX_EXPONENT) return INFINITE;
    if (x < -MAX_EXPONENT) return -1;
    Pair rest;
    double n = reduce_exponent(x, &rest), grown = sum_exponential(rest);
    if (n == 0) return grown;
    if (n > 60 || n < -60) return scale(1 + grown, (int)n) - 1; /* one of both terms is below the last place */
    double power = scale(1, (int)n);
    Pair sum = add_exactly(power - 1, power * grown);
    return sum.high + sum.low;
}

double poise_tanh(double x) {
    if (x != x || x == 0) return x;
    double change = poise_expm1(-2 * ABS(x));
    return copy_sign(-change / (2 + change), x);
}

/* ln(x) for a normal x > 0, with some 70 bits. */
static Pair compute_logarithm(double x, int exponent) {
    static const double SERIES[] = { 0x1p0 / 25, 0x1p0 / 23, 0x1p0 / 21, 0x1p0 / 19, 0x1p0 / 17, 0x1p0 / 15,
                                     0x1p0 / 13, 0x1p0 / 11, 0x1p0 / 9,  0x1p0 / 7,  0x1p0 / 5 };
    uint64_t bits = read_bits(x);
    double n = exponent + (int)(bits >> 52) - 1023, m = from_bits((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
    if (m > 0x1.6a09e667f3bcdp+0) m *= 0.5, n += 1; /* above sqrt(2) */
    Pair sum = add_exactly(m, 1);
    double s = (m - 1) / sum.high; /* ln(m) = 2 atanh((m - 1) / (m + 1)) */
    Pair product = multiply_exactly(s, sum.high);
    double s_low = (((m - 1) - product.high) - product.low - s * sum.low) / sum.high;
    Pair square = multiply_exactly(s, s), cube = multiply_exactly(square.high, s);
    cube.low += square.low * s;
    Pair third = multiply_exactly(cube.high, 0x1.5555555555555p-2);
    third.low += cube.high * 0x1.5555555555555p-56 + cube.low * 0x1.5555555555555p-2;
    double z = square.high, rest = cube.high * z * sum_series(z, SERIES, COUNT(SERIES));
    Pair total = add_exactly(n * LN2_HIGH, 2 * s), next = add_exactly(total.high, 2 * third.high);
    double tail = total.low + next.low + n * LN2_LOW + 2 * (s_low + z * s_low + third.low + rest);
    Pair result = add_exactly(next.high, tail);
    return result;
}

static int is_integer(double y) { return ABS(y) >= 0x1p52 || (double)(int64_t)y == y; }

static int is_odd(double y) { return ABS(y) < 0x1p53 && is_integer(y) && ((int64_t)y & 1); }

double poise_pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return NOT_A_NUMBER;
    double base = ABS(x), sign = is_negative(x) && is_odd(y) ? -1 : 1;
    if (base == 0 || base == INFINITE) return sign * ((base == 0) == (y > 0) ? 0 : INFINITE);
    if (x < 0 && !is_integer(y)) return ABS(y) == INFINITE ? INFINITE : NOT_A_NUMBER;
    if (ABS(y) > 0x1p70) return sign * (base == 1 ? 1 : (base > 1) == (y > 0) ? INFINITE : 0);
    int is_subnormal = base < 0x1p-1022;
    Pair logarithm = compute_logarithm(is_subnormal ? base * 0x1p54 : base, is_subnormal ? -54 : 0);
    Pair product = multiply_exactly(y, logarithm.high);
    product.low += y * logarithm.low;
    return sign * compute_exponential(product);
}

double poise_hypot(double x, double y) {
    double a = ABS(x), b = ABS(y);
    if (a == INFINITE || b == INFINITE) return INFINITE;
    if (x != x || y != y) return NOT_A_NUMBER;
    double greater = a > b ? a : b;
    double factor = greater > 0x1p500 ? 0x1p-600 : greater < 0x1p-500 ? 0x1p600 : 1;
    a *= factor, b *= factor;
    return SQRT(a * a + b * b) / factor;
}

#ifdef __wasm__
/* --- Integers of 128 bits ------------------------------------------------------------------------------------------

   LLVM multiplies them where it replaces a loop by its sum. WebAssembly has no instruction for that, and calls this. */

typedef unsigned __int128 Wide;

Wide __multi3(Wide a, Wide b) {
    uint64_t a_low = (uint64_t)a, b_low = (uint64_t)b;
    uint64_t a0 = (uint32_t)a_low, a1 = a_low >> 32, b0 = (uint32_t)b_low, b1 = b_low >> 32;
    uint64_t low = a0 * b0, first = a1 * b0 + (low >> 32), second = a0 * b1 + (uint32_t)first;
    uint64_t high = a1 * b1 + (first >> 32) + (second >> 32);
    high += a_low * (uint64_t)(b >> 64) + (uint64_t)(a >> 64) * b_low;
    return ((Wide)high << 64) | (second << 32) | (uint32_t)low;
}
#endif
