/*
 * sound.h measures decoded sound: its loudness by ITU-R BS.1770, samples at full scale, the levels and
 * the correlation of two channels, and a tone of 1 kHz.
 *
 * It looks at each sample once. Samples are summed in groups, whose sums are 6,000 to 12,000 a second:
 * enough for the tone. The weights of BS.1770 are two filters of second order, one after the other, for
 * two channels at once.
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
typedef int64_t flags __attribute__((vector_size(16)));
typedef float four __attribute__((vector_size(16)));

/* channels are two neighbours. Of an odd number of channels, the last one has a silent neighbour. */
struct channels {
	pair state[4];        /* of the filters */
	pair sum, square;     /* of the samples of a group */
	pair weighted, power; /* sums of squares: of a block after the filters, of the whole sound */
	float groups[2][MAX_TONE_GROUPS] __attribute__((aligned(16)));
};

struct sound {
	int count, rate; /* channels, Hz; count 0: nothing has been measured */
	int tone;        /* it is looked for */
	double shelf[5], pass[3]; /* coefficients of the filters */
	double weight[MAX_CHANNELS];
	struct channels channels[MAX_CHANNELS / 2];
	int group, block, tone_block; /* samples of a group, groups of 100 ms, groups of 85 ms */
	int samples, groups, tone_groups; /* of the present group, block and block of the tone */
	double tone_power;

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

/* begin_sound sets the filters and sizes for a sampling rate. Sound of more channels or fewer samples than
 * it knows is not measured. */
static void begin_sound(struct sound *s, const AVFrame *f, int channels, int tone)
{
	if (channels > MAX_CHANNELS || f->sample_rate < MIN_SOUND_RATE)
		return;
	memset(s, 0, sizeof *s);
	s->count = channels, s->rate = f->sample_rate, s->tone = tone;
	s->group = FFMAX(s->rate / 6000, 1);
	s->block = lrint(0.1 * s->rate / s->group);
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
	const double pass[] = {1, 2 * (k2 * k2 - 1) / b0, (1 - k2 / q2 + k2 * k2) / b0};
	memcpy(s->shelf, shelf, sizeof shelf);
	memcpy(s->pass, pass, sizeof pass);
}

/* tone_table has the window and the waves of the bins, for groups of a length. */
static const float (*tone_table(const struct sound *s))[2][MAX_TONE_GROUPS]
{
	static float table[TONE_BINS][2][MAX_TONE_GROUPS] __attribute__((aligned(16)));
	static int rate;
	if (rate == s->rate)
		return table;
	rate = s->rate;
	memset(table, 0, sizeof table);
	for (int b = 0; b < TONE_BINS; b++)
		for (int g = 0; g < s->tone_block; g++) {
			const double window = 0.5 - 0.5 * cos(2 * M_PI * (g + 0.5) / s->tone_block);
			const double bin = (double)rate / s->group / s->tone_block;
			const double phase = 2 * M_PI * (TONE_HZ + (b - TONE_BINS / 2) * bin) * s->group / rate * g;
			table[b][0][g] = window * cos(phase), table[b][1][g] = window * sin(phase);
		}
	return table;
}

/* dot returns the sum of the products. */
static double dot(const float *a, const float *b, int count)
{
	four sum = {0};
	for (int i = 0; i < count; i += 4)
		sum += *(const four *)(a + i) * *(const four *)(b + i);
	return (double)sum[0] + sum[1] + sum[2] + sum[3];
}

/* end_tone_block decides whether the block that ends is a tone. */
static void end_tone_block(struct sound *s)
{
	const float (*table)[2][MAX_TONE_GROUPS] = tone_table(s);
	double bins[TONE_BINS] = {0}, own = 0;
	int peak = 0;
	for (int c = 0; c < s->count; c++) {
		float *groups = s->channels[c / 2].groups[c % 2];
		for (int b = 0; b < TONE_BINS; b++) {
			const int count = FFALIGN(s->tone_block, 4);
			const double re = dot(groups, table[b][0], count), im = dot(groups, table[b][1], count);
			bins[b] += re * re + im * im;
		}
	}
	for (int b = 1; b < TONE_BINS; b++)
		if (bins[b] > bins[peak])
			peak = b;
	/* What the sum of a group makes of a tone, and what the window leaves of power. */
	const double gain = sin(M_PI * TONE_HZ * s->group / s->rate) / sin(M_PI * TONE_HZ / s->rate);
	if (abs(peak - TONE_BINS / 2) <= TONE_PEAK) {
		for (int b = FFMAX(peak - TONE_WIDTH, 0); b <= FFMIN(peak + TONE_WIDTH, TONE_BINS - 1); b++)
			own += bins[b];
		own *= 2 * s->group / (gain * gain * s->tone_block);
		s->tones += own > TONE_SHARE * s->tone_power;
	}
	s->tone_blocks++;
	s->tone_power = 0, s->tone_groups = 0;
}

/* end_block decides whether the block of 100 ms that ends counts. */
static void end_block(struct sound *s)
{
	double power = 0;
	for (int c = 0; c < s->count; c++)
		power += s->weight[c] * s->channels[c / 2].weighted[c % 2];
	power /= (double)s->block * s->group;
	if (10 * log10(power) - 0.691 >= GATE_LUFS) {
		s->loud += power;
		s->loud_blocks++;
	}
	s->full_blocks += s->is_full;
	s->blocks++;
	for (int p = 0; p < MAX_CHANNELS / 2; p++)
		s->channels[p].weighted = (pair){0};
	s->groups = 0, s->is_full = 0;
}

/* end_group takes in the sums of the group that ends. */
static void end_group(struct sound *s)
{
	if (s->tone) {
		/* The window, as the tone_table has it. */
		const double window = 0.5 - 0.5 * cos(2 * M_PI * (s->tone_groups + 0.5) / s->tone_block);
		for (int c = 0; c < s->count; c++) {
			s->channels[c / 2].groups[c % 2][s->tone_groups] = s->channels[c / 2].sum[c % 2];
			s->tone_power += window * window * s->channels[c / 2].square[c % 2];
		}
	}
	for (int p = 0; p < (s->count + 1) / 2; p++) {
		s->channels[p].power += s->channels[p].square;
		s->channels[p].sum = s->channels[p].square = (pair){0};
	}
	s->samples = 0;
	if (s->tone && ++s->tone_groups == s->tone_block)
		end_tone_block(s);
	if (++s->groups == s->block)
		end_block(s);
}

/* add_samples takes in samples of two channels within a group. The steps are the distances of two samples of a channel. */
static void add_samples(struct sound *s, struct channels *to, const float *left, int left_step, const float *right, int right_step, int count)
{
	const pair b0 = {s->shelf[0], s->shelf[0]}, b1 = {s->shelf[1], s->shelf[1]}, b2 = {s->shelf[2], s->shelf[2]};
	const pair a1 = {s->shelf[3], s->shelf[3]}, a2 = {s->shelf[4], s->shelf[4]};
	const pair c1 = {s->pass[1], s->pass[1]}, c2 = {s->pass[2], s->pass[2]};
	const pair not_denormal = {1e-30, 1e-30}; /* denormal numbers, after the sound has ended, are slow */
	pair s1 = to->state[0], s2 = to->state[1], s3 = to->state[2], s4 = to->state[3];
	pair sum = to->sum, square = to->square, weighted = to->weighted;
	flags full = {0};
	double cross = 0;
	for (int i = 0; i < count; i++) {
		const pair x = {left[i * left_step], right[i * right_step]};
		sum += x;
		square += x * x;
		cross += x[0] * x[1];
		full |= (x >= FULL_SCALE) | (x <= -FULL_SCALE);
		const pair in = x + not_denormal;
		const pair y = b0 * in + s1;
		s1 = b1 * in - a1 * y + s2;
		s2 = b2 * in - a2 * y;
		const pair z = y + s3;
		s3 = -2 * y - c1 * z + s4;
		s4 = y - c2 * z;
		weighted += z * z;
	}
	to->state[0] = s1, to->state[1] = s2, to->state[2] = s3, to->state[3] = s4;
	to->sum = sum, to->square = square, to->weighted = weighted;
	s->cross += cross;
	s->is_full |= full[0] || full[1];
}

/* add_sound takes in a frame. planes has the samples of each channel, step apart. */
static void add_sound(struct sound *s, const float *const *planes, int step, int count)
{
	static const float silent[1];
	for (int at = 0; s->count > 0 && at < count;) {
		const int n = FFMIN(count - at, s->group - s->samples);
		for (int c = 0; c < s->count; c += 2)
			if (c + 1 < s->count)
				add_samples(s, &s->channels[c / 2], planes[c] + at * step, step, planes[c + 1] + at * step, step, n);
			else
				add_samples(s, &s->channels[c / 2], planes[c] + at * step, step, silent, 0, n);
		at += n;
		s->total += n;
		if ((s->samples += n) == s->group)
			end_group(s);
	}
}

/* level returns the dBFS of a mean power. */
static double level(double power) { return power > 0 ? fmax(10 * log10(power), MIN_LOUDNESS) : MIN_LOUDNESS; }

/* end_sound returns what was measured. Sound with numbers that are none is not measured. */
static struct sound_measure end_sound(const struct sound *s)
{
	struct sound_measure m = {.loudness = MIN_LOUDNESS, .left = MIN_LOUDNESS, .right = MIN_LOUDNESS};
	const pair power = s->channels[0].power;
	if (s->count == 0 || s->total == 0 || !isfinite(power[0] + power[1] + s->loud + s->cross))
		return m;
	m.channels = s->count;
	if (s->loud_blocks > 0)
		m.loudness = fmax(10 * log10(s->loud / s->loud_blocks) - 0.691, MIN_LOUDNESS);
	m.loud_seconds = (double)s->loud_blocks * s->block * s->group / s->rate;
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
