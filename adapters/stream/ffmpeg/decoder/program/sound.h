/*
 * sound.h measures decoded sound: its loudness by ITU-R BS.1770, samples at full scale, the levels and
 * the correlation of two channels, and a tone of 1 kHz.
 *
 * The weights of BS.1770 are two filters of second order, one after the other, for two channels at once.
 * For the tone, samples are summed in groups, whose sums are 5,500 to 11,000 a second.
 */
#define MAX_CHANNELS 8
#define MIN_SOUND_RATE 4000
#define GATE_LUFS -50.0     /* of a block of 100 ms that counts */
#define MIN_LOUDNESS -120.0 /* LUFS or dBFS */
#define FULL_SCALE 0.999
#define TONE_HZ 1000.0
#define TONE_BINS 11   /* from 5 below to 5 above TONE_HZ */
#define TONE_PEAK 1    /* bins that the peak may be off: 12 Hz */
#define TONE_WIDTH 3   /* bins on both sides of the peak that are its own: 35 Hz */
#define TONE_SHARE 0.95
#define MAX_TONE_GROUPS 1024

typedef double pair __attribute__((vector_size(16)));
typedef float four __attribute__((vector_size(16)));
typedef int32_t mask __attribute__((vector_size(16)));

/* channels are two neighbours. Of an odd number of channels, the last one has a silent neighbour. */
struct channels {
	pair state[6];   /* of the filters: the last two samples before, between and after them */
	pair weighted;   /* sum of the squares after the filters, of the present block */
	double power[2]; /* sums of the squares, of the whole sound */
	float groups[2][MAX_TONE_GROUPS] __attribute__((aligned(16))); /* sums of the present block of the tone */
};

struct sound {
	int count, rate;          /* channels, Hz; count 0: nothing has been measured */
	int weighs, tone;         /* the loudness is measured, the tone is looked for */
	double shelf[5], pass[2]; /* coefficients of the filters */
	double weight[MAX_CHANNELS];
	struct channels channels[MAX_CHANNELS / 2];
	int group;                   /* samples that are summed */
	int block, in_block;         /* samples of 100 ms, of the present block */
	int tone_block, in_tone;     /* groups of 85 ms, samples of the present block */
	double tone_power;           /* of the present block, in its window */

	int64_t total;    /* samples */
	double cross;     /* sum of the products of two channels */
	double loud;      /* sum of the powers of the blocks that count */
	int blocks, loud_blocks, full_blocks, tones, tone_blocks;
	int is_full;      /* the present block has a sample at full scale */
	int is_cut;       /* the decoder returns whole numbers */
};

struct sound_measure {
	uint32_t channels, tone_blocks; /* 0: not measured */
	double loudness, loud_seconds, full_scale, left, right, correlation, tone_share;
} __attribute__((packed));

/* waves are the sine and cosine of each bin in the window of a block of the tone, one value for each group. */
static struct waves {
	int rate;
	float window[MAX_TONE_GROUPS]; /* its square */
	float wave[TONE_BINS][2][MAX_TONE_GROUPS] __attribute__((aligned(16)));
} waves;

/* prepare_waves makes the waves for a sampling rate. */
static void prepare_waves(const struct sound *s)
{
	if (waves.rate == s->rate)
		return;
	memset(&waves, 0, sizeof waves);
	waves.rate = s->rate;
	for (int g = 0; g < s->tone_block; g++) {
		const double window = 0.5 - 0.5 * cos(2 * M_PI * (g + 0.5) / s->tone_block);
		waves.window[g] = window * window;
		for (int b = 0; b < TONE_BINS; b++) {
			const double bin = (double)s->rate / s->group / s->tone_block;
			const double phase = 2 * M_PI * (TONE_HZ + (b - TONE_BINS / 2) * bin) * s->group / s->rate * g;
			waves.wave[b][0][g] = window * cos(phase), waves.wave[b][1][g] = window * sin(phase);
		}
	}
}

/* begin_sound sets the filters and sizes for a sampling rate. Sound of more channels or fewer samples than
 * it knows is not measured. */
static void begin_sound(struct sound *s, const AVFrame *f, int channels, int weighs, int tone)
{
	if (channels > MAX_CHANNELS || f->sample_rate < MIN_SOUND_RATE)
		return;
	memset(s, 0, sizeof *s);
	s->count = channels, s->rate = f->sample_rate, s->weighs = weighs, s->tone = tone;
	s->group = FFMAX(s->rate / 5500, 1);
	s->block = lrint(0.1 * s->rate);
	s->tone_block = FFMIN(lrint(0.0853 * s->rate / s->group), MAX_TONE_GROUPS);
	const enum AVSampleFormat format = av_get_packed_sample_fmt(f->format);
	s->is_cut = format != AV_SAMPLE_FMT_FLT && format != AV_SAMPLE_FMT_DBL;
	for (int c = 0; c < channels; c++) {
		const enum AVChannel place = av_channel_layout_channel_from_index(&f->ch_layout, c);
		switch (place) {
		case AV_CHAN_LOW_FREQUENCY: case AV_CHAN_LOW_FREQUENCY_2: s->weight[c] = 0; break;
		case AV_CHAN_BACK_LEFT: case AV_CHAN_BACK_RIGHT: case AV_CHAN_BACK_CENTER:
		case AV_CHAN_SIDE_LEFT: case AV_CHAN_SIDE_RIGHT: s->weight[c] = 1.41; break;
		default: s->weight[c] = 1;
		}
	}
	/* ITU-R BS.1770-4, annex 1, for any rate: the analogue filters of which its coefficients at 48 kHz are made. */
	const double k = tan(M_PI * 1681.974450955533 / s->rate), q = 0.7071752369554196;
	const double high = pow(10, 3.999843853973347 / 20), band = pow(high, 0.4996667741545416), a0 = 1 + k / q + k * k;
	const double shelf[] = {(high + band * k / q + k * k) / a0, 2 * (k * k - high) / a0, (high - band * k / q + k * k) / a0, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0};
	const double k2 = tan(M_PI * 38.13547087602444 / s->rate), q2 = 0.5003270373238773, b0 = 1 + k2 / q2 + k2 * k2;
	const double pass[] = {2 * (k2 * k2 - 1) / b0, (1 - k2 / q2 + k2 * k2) / b0};
	memcpy(s->shelf, shelf, sizeof shelf);
	memcpy(s->pass, pass, sizeof pass);
	if (tone)
		prepare_waves(s);
}

/* dot returns the sum of the products. */
static double dot(const float *a, const float *b, int count)
{
	four sum = {0};
	for (int i = 0; i < count; i += 4)
		sum += *(const four *)(a + i) * *(const four *)(b + i);
	return (double)sum[0] + sum[1] + sum[2] + sum[3];
}

/* begin_tone_block forgets what the present block has. */
static void begin_tone_block(struct sound *s)
{
	for (int c = 0; c < s->count; c++)
		memset(s->channels[c / 2].groups[c % 2], 0, sizeof s->channels[c / 2].groups[c % 2]);
	s->tone_power = 0, s->in_tone = 0;
}

/* end_tone_block decides whether the block that ends is a tone. */
static void end_tone_block(struct sound *s)
{
	const int count = FFALIGN(s->tone_block, 4); /* what is beyond is 0 */
	double bins[TONE_BINS] = {0}, own = 0;
	int peak = 0;
	for (int c = 0; c < s->count; c++)
		for (int b = 0; b < TONE_BINS; b++) {
			const float *groups = s->channels[c / 2].groups[c % 2];
			const double re = dot(groups, waves.wave[b][0], count), im = dot(groups, waves.wave[b][1], count);
			bins[b] += re * re + im * im;
		}
	for (int b = 1; b < TONE_BINS; b++)
		if (bins[b] > bins[peak])
			peak = b;
	if (abs(peak - TONE_BINS / 2) <= TONE_PEAK) {
		/* What the sums of groups make of the amplitude of a tone. */
		const double gain = sin(M_PI * TONE_HZ * s->group / s->rate) / sin(M_PI * TONE_HZ / s->rate);
		for (int b = peak - TONE_WIDTH; b <= peak + TONE_WIDTH; b++)
			own += bins[b];
		own *= 2 * s->group / (gain * gain * s->tone_block);
		s->tones += own > TONE_SHARE * s->tone_power;
	}
	s->tone_blocks++;
	begin_tone_block(s);
}

/* end_block decides whether the block of 100 ms that ends counts. */
static void end_block(struct sound *s)
{
	double power = 0;
	for (int c = 0; c < s->count; c++)
		power += s->weight[c] * s->channels[c / 2].weighted[c % 2];
	power /= s->block;
	if (10 * log10(power) - 0.691 >= GATE_LUFS) {
		s->loud += power;
		s->loud_blocks++;
	}
	s->full_blocks += s->is_full;
	s->blocks++;
	for (int p = 0; p < MAX_CHANNELS / 2; p++)
		s->channels[p].weighted = (pair){0};
	s->in_block = 0, s->is_full = 0;
}

/* weigh adds the power of samples after the filters. The steps are the distances of two samples of a channel. */
static void weigh(const struct sound *s, struct channels *to, const float *left, int left_step, const float *right, int right_step, int count)
{
	const pair b0 = {s->shelf[0], s->shelf[0]}, b1 = {s->shelf[1], s->shelf[1]}, b2 = {s->shelf[2], s->shelf[2]};
	const pair a1 = {s->shelf[3], s->shelf[3]}, a2 = {s->shelf[4], s->shelf[4]};
	const pair c1 = {s->pass[0], s->pass[0]}, c2 = {s->pass[1], s->pass[1]};
	const pair not_denormal = {1e-30, 1e-30}; /* denormal numbers, after the sound has ended, are slow */
	pair x1 = to->state[0], x2 = to->state[1], y1 = to->state[2], y2 = to->state[3], z1 = to->state[4], z2 = to->state[5];
	pair weighted = to->weighted;
	for (int i = 0; i < count; i++) {
		const pair x = (pair){left[i * left_step], right[i * right_step]} + not_denormal;
		/* What is known of the samples before comes first: the next sample waits for the last term. */
		const pair y = ((b0 * x + b1 * x1 + b2 * x2) - a2 * y2) - a1 * y1;
		const pair z = ((y - (y1 + y1) + y2) - c2 * z2) - c1 * z1;
		weighted += z * z;
		x2 = x1, x1 = x, y2 = y1, y1 = y, z2 = z1, z1 = z;
	}
	to->state[0] = x1, to->state[1] = x2, to->state[2] = y1, to->state[3] = y2, to->state[4] = z1, to->state[5] = z2;
	to->weighted = weighted;
}

/* sum_up returns the sum and the sum of the squares of samples, and notes full scale. */
static inline float sum_up(struct sound *s, const float *from, int step, int count, float *square)
{
	const float full = FULL_SCALE * FULL_SCALE;
	four sums = {0}, squares = {0};
	mask over = {0};
	float sum = 0;
	int i = 0;
	for (; step == 1 && i + 4 <= count; i += 4) {
		four x;
		memcpy(&x, from + i, sizeof x);
		sums += x;
		squares += x * x;
		over |= x * x >= full;
	}
	*square = squares[0] + squares[1] + squares[2] + squares[3];
	sum = sums[0] + sums[1] + sums[2] + sums[3];
	s->is_full |= (over[0] | over[1] | over[2] | over[3]) != 0;
	for (; i < count; i++) {
		const float x = from[i * step];
		sum += x;
		*square += x * x;
		s->is_full |= x * x >= full;
	}
	return sum;
}

/* add_channel takes in samples of one channel, within a block of each kind. */
static void add_channel(struct sound *s, int channel, const float *from, int step, int count)
{
	struct channels *to = &s->channels[channel / 2];
	const int side = channel % 2;
	float square;
	if (!s->tone) {
		sum_up(s, from, step, count, &square);
		to->power[side] += square;
		return;
	}
	for (int i = 0; i < count;) {
		const int group = (s->in_tone + i) / s->group, n = FFMIN((group + 1) * s->group - (s->in_tone + i), count - i);
		to->groups[side][group] += sum_up(s, from + i * step, step, n, &square);
		to->power[side] += square;
		s->tone_power += waves.window[group] * square;
		i += n;
	}
}

/* multiply returns the sum of the products of two channels. */
static double multiply(const float *left, const float *right, int step, int count)
{
	four products = {0};
	float sum = 0;
	int i = 0;
	for (; step == 1 && i + 4 <= count; i += 4) {
		four a, b;
		memcpy(&a, left + i, sizeof a);
		memcpy(&b, right + i, sizeof b);
		products += a * b;
	}
	for (; i < count; i++)
		sum += left[i * step] * right[i * step];
	return (double)sum + products[0] + products[1] + products[2] + products[3];
}

/* add_sound takes in a frame. planes has the samples of each channel, step apart. */
static void add_sound(struct sound *s, const float *const *planes, int step, int count)
{
	static const float silent[1];
	if (s->count == 2)
		s->cross += multiply(planes[0], planes[1], step, count);
	for (int at = 0; s->count > 0 && at < count;) {
		int n = FFMIN(count - at, s->block - s->in_block);
		if (s->tone)
			n = FFMIN(n, s->tone_block * s->group - s->in_tone);
		for (int c = 0; c < s->count; c++)
			add_channel(s, c, planes[c] + at * step, step, n);
		for (int c = 0; s->weighs && c < s->count; c += 2)
			if (c + 1 < s->count)
				weigh(s, &s->channels[c / 2], planes[c] + at * step, step, planes[c + 1] + at * step, step, n);
			else
				weigh(s, &s->channels[c / 2], planes[c] + at * step, step, silent, 0, n);
		at += n;
		s->total += n;
		if ((s->in_block += n) == s->block)
			end_block(s);
		if (s->tone && (s->in_tone += n) == s->tone_block * s->group)
			end_tone_block(s);
	}
}

/* level returns the dBFS of a mean power. */
static double level(double power) { return power > 0 ? fmax(10 * log10(power), MIN_LOUDNESS) : MIN_LOUDNESS; }

/* end_sound returns what was measured. Sound with numbers that are none is not measured. */
static struct sound_measure end_sound(const struct sound *s)
{
	struct sound_measure m = {.loudness = MIN_LOUDNESS, .left = MIN_LOUDNESS, .right = MIN_LOUDNESS};
	const double *power = s->channels[0].power;
	if (s->count == 0 || s->total == 0 || !isfinite(power[0] + power[1] + s->loud + s->cross))
		return m;
	m.channels = s->count;
	if (s->loud_blocks > 0)
		m.loudness = fmax(10 * log10(s->loud / s->loud_blocks) - 0.691, MIN_LOUDNESS);
	m.loud_seconds = (double)s->loud_blocks * s->block / s->rate;
	m.full_scale = s->is_cut ? -1 : (double)s->full_blocks / FFMAX(s->blocks, 1);
	if (s->count == 2) {
		m.left = level(power[0] / s->total), m.right = level(power[1] / s->total);
		if (power[0] > 0 && power[1] > 0)
			m.correlation = fmin(fmax(s->cross / sqrt(power[0] * power[1]), -1), 1);
	}
	m.tone_blocks = s->tone_blocks;
	m.tone_share = (double)s->tones / FFMAX(s->tone_blocks, 1);
	return m;
}
