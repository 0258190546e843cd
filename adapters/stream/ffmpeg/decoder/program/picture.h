/*
 * picture.h measures decoded pictures: the means of their cells, the colour bars of a test
 * pattern, and how a picture differs from another. What it returns does not depend on the size,
 * the depth (8 to 16 bits) or the range of the luma.
 */
#define DIGEST_WIDTH 64
#define DIGEST_HEIGHT 36
#define CHROMA_WIDTH 16
#define CHROMA_HEIGHT 9
#define STRIPS 18         /* that are searched for colour bars */
#define STRIP_COLUMNS 128 /* of each strip */
#define BLOCKS_ACROSS 32  /* that two pictures are compared by: 8x8 pixels at 256x144 */
#define BLOCKS_DOWN 18

struct picture {
	int64_t at;
	uint32_t width, height, bars;
	uint8_t luma[DIGEST_WIDTH * DIGEST_HEIGHT], u[CHROMA_WIDTH * CHROMA_HEIGHT], v[CHROMA_WIDTH * CHROMA_HEIGHT];
} __attribute__((packed));

struct change {
	int64_t at;
	double mean, block, ratio;
} __attribute__((packed));

/* is_full_range reports whether the luma of a picture uses all values. */
static int is_full_range(const AVFrame *f)
{
	return f->color_range == AVCOL_RANGE_JPEG || f->format == AV_PIX_FMT_YUVJ420P || f->format == AV_PIX_FMT_YUVJ422P ||
	       f->format == AV_PIX_FMT_YUVJ444P || f->format == AV_PIX_FMT_YUVJ440P || f->format == AV_PIX_FMT_YUVJ411P;
}

/* levels returns how many levels of 0 to 255 one value of the luma is, or of the chroma. */
static double levels(const AVFrame *f, int depth, int chroma)
{
	if (is_full_range(f))
		return 255.0 / ((1 << depth) - 1);
	return 255.0 / (chroma ? 224 : 219) / (1 << (depth - 8));
}

/* begin_of returns the first of size pixels that cell i of count has. A cell has at least one. */
static int begin_of(int i, int count, int size) { return (int64_t)i * size / count; }
static int end_of(int i, int count, int size) { return FFMAX(begin_of(i + 1, count, size), begin_of(i, count, size) + 1); }

/* plane is a component of a picture. */
struct plane {
	const uint8_t *data;
	ptrdiff_t line; /* bytes from one row to the next */
	int step;       /* bytes from one value to the next */
	int width, height, depth;
};

/* add_row adds the values of a row to sums, one for each column. */
static void add_row(const struct plane *p, int y, uint32_t *restrict sums)
{
	const uint8_t *restrict row = p->data + y * p->line;
	if (p->depth == 8 && p->step == 1)
		for (int x = 0; x < p->width; x++)
			sums[x] += row[x];
	else if (p->depth > 8 && p->step == 2)
		for (int x = 0; x < p->width; x++)
			sums[x] += ((const uint16_t *)row)[x];
	else
		for (int x = 0; x < p->width; x++)
			sums[x] += p->depth == 8 ? row[x * p->step] : *(const uint16_t *)(row + x * p->step);
}

/* columns returns width sums that are 0, or NULL without memory. They are valid until the next call. */
static uint32_t *columns(int width)
{
	static uint32_t *sums;
	static unsigned room;
	av_fast_malloc(&sums, &room, width * sizeof *sums);
	if (sums)
		memset(sums, 0, width * sizeof *sums);
	return sums;
}

/* means divides a plane into across x down cells of one size, and writes the mean of each. It
 * returns 0 without memory. */
static int means(const struct plane *p, int across, int down, float *mean)
{
	for (int i = 0; i < down; i++) {
		const int top = begin_of(i, down, p->height), bottom = end_of(i, down, p->height);
		uint32_t *sums = columns(p->width);
		if (!sums)
			return 0;
		for (int y = top; y < bottom; y++)
			add_row(p, y, sums);
		for (int j = 0; j < across; j++) {
			const int left = begin_of(j, across, p->width), right = end_of(j, across, p->width);
			uint64_t sum = 0;
			for (int x = left; x < right; x++)
				sum += sums[x];
			mean[i * across + j] = sum / ((double)(right - left) * (bottom - top));
		}
	}
	return 1;
}

/* to_byte returns the level of a mean, of which zero is the level 0, or 128 of the chroma. */
static uint8_t to_byte(double mean, double zero, double levels, double offset)
{
	return lrint(fmin(fmax((mean - zero) * levels + offset, 0), 255));
}

/* color returns which of yellow, cyan, green, magenta, red and blue the chroma of a column is, or -1.
 * The hues are between those of BT.601 and BT.709: 173, 286, 231, 51, 106 and 353 degrees. */
static int color(float u, float v)
{
	static const float hues[][2] = {{-0.992, 0.125}, {0.272, -0.962}, {-0.632, -0.774}, {0.633, 0.774}, {-0.272, 0.962}, {0.992, -0.125}};
	const float least = 14, tolerance = 0.951; /* the cosine of 18 degrees */
	const float square = u * u + v * v;
	if (square <= least * least)
		return -1;
	for (int i = 0; i < (int)FF_ARRAY_ELEMS(hues); i++) {
		const float along = u * hues[i][0] + v * hues[i][1];
		if (along > 0 && along * along >= tolerance * tolerance * square)
			return i;
	}
	return -1;
}

struct run {
	int color, begin, end; /* columns */
};

/* is_test_pattern reports whether five of the six colours follow one another in their order, or
 * mirrored, each about as wide as the others. One between them may be hidden. */
static int is_test_pattern(const struct run *runs, int count, int direction)
{
	const int wanted = 5;
	for (int first = 0; first < count; first++) {
		int found = 1, last = first, narrow = runs[first].end - runs[first].begin, wide = narrow, hidden = 0;
		for (int i = first + 1; i < count; i++) {
			const int width = runs[i].end - runs[i].begin, gap = runs[i].begin - runs[last].end;
			const int step = (runs[i].color - runs[last].color) * direction;
			if (step == 2 && !hidden && 2 * gap > narrow && gap < 2 * wide)
				hidden = 1;
			else if (step != 1 || 2 * gap > wide)
				break;
			narrow = FFMIN(narrow, width), wide = FFMAX(wide, width);
			last = i;
			if (wide <= 2 * narrow && ++found >= wanted)
				return 1;
		}
	}
	return 0;
}

/* has_bars reports whether the columns of a strip have the colours of a test pattern. Their chroma is in
 * levels around 0. */
static int has_bars(const float *u, const float *v)
{
	const int narrowest = 3; /* where two bars meet, a column may have the hue of a third */
	struct run runs[STRIP_COLUMNS];
	int colors[STRIP_COLUMNS], count = 0;
	for (int x = 0; x < STRIP_COLUMNS; x++)
		colors[x] = color(u[x], v[x]);
	for (int x = 0; x < STRIP_COLUMNS;) {
		struct run r = {colors[x], x, x + 1};
		while (r.end < STRIP_COLUMNS && colors[r.end] == r.color)
			r.end++;
		x = r.end;
		if (r.color < 0 || r.end - r.begin < narrowest)
			continue;
		if (count > 0 && runs[count - 1].color == r.color) /* something small covers the middle */
			runs[count - 1].end = r.end;
		else
			runs[count++] = r;
	}
	return is_test_pattern(runs, count, 1) || is_test_pattern(runs, count, -1);
}

/* plane_of returns a component of a picture. Of a format without it, the data are NULL. */
static struct plane plane_of(const AVFrame *f, const AVPixFmtDescriptor *format, int component)
{
	const AVComponentDescriptor *c = &format->comp[component];
	const int chroma = component > 0;
	if (component >= format->nb_components || (chroma && (format->nb_components < 3 || c->depth != format->comp[0].depth || c->shift != 0)))
		return (struct plane){0};
	return (struct plane){
		f->data[c->plane] + c->offset, f->linesize[c->plane], c->step,
		chroma ? AV_CEIL_RSHIFT(f->width, format->log2_chroma_w) : f->width,
		chroma ? AV_CEIL_RSHIFT(f->height, format->log2_chroma_h) : f->height, c->depth,
	};
}

/* measure_picture writes the cells and bars of a picture. It returns 0 without memory. */
static int measure_picture(const AVFrame *f, const AVPixFmtDescriptor *format, struct picture *to)
{
	static float luma[DIGEST_WIDTH * DIGEST_HEIGHT], chroma[2][STRIPS * STRIP_COLUMNS];
	uint8_t *const cells[] = {to->u, to->v};
	const struct plane y = plane_of(f, format, 0);
	const double scale = 1 << (y.depth - 8);

	to->width = f->width, to->height = f->height, to->bars = 0;
	if (!means(&y, DIGEST_WIDTH, DIGEST_HEIGHT, luma))
		return 0;
	for (int i = 0; i < DIGEST_WIDTH * DIGEST_HEIGHT; i++)
		to->luma[i] = to_byte(luma[i], is_full_range(f) ? 0 : 16 * scale, levels(f, y.depth, 0), 0);
	for (int c = 0; c < 2; c++) {
		const struct plane p = plane_of(f, format, c + 1);
		const double l = levels(f, y.depth, 1);
		if (!p.data) {
			memset(to->u, 128, sizeof to->u);
			memset(to->v, 128, sizeof to->v);
			return 1;
		}
		/* The cells of a strip lie in those of the digest: 8 by 2. */
		if (!means(&p, STRIP_COLUMNS, STRIPS, chroma[c]))
			return 0;
		for (int i = 0; i < STRIPS * STRIP_COLUMNS; i++)
			chroma[c][i] = (chroma[c][i] - 128 * scale) * l;
		for (int i = 0; i < CHROMA_HEIGHT * CHROMA_WIDTH; i++) {
			const int across = STRIP_COLUMNS / CHROMA_WIDTH, down = STRIPS / CHROMA_HEIGHT;
			const float *from = &chroma[c][i / CHROMA_WIDTH * down * STRIP_COLUMNS + i % CHROMA_WIDTH * across];
			double sum = 0;
			for (int row = 0; row < down; row++)
				for (int column = 0; column < across; column++)
					sum += from[row * STRIP_COLUMNS + column];
			cells[c][i] = to_byte(sum / (across * down), 0, 1, 128);
		}
	}
	for (int i = 0; i < STRIPS; i++)
		to->bars += has_bars(&chroma[0][i * STRIP_COLUMNS], &chroma[1][i * STRIP_COLUMNS]);
	return 1;
}

/* add_difference adds the differences of two rows to sums, one for each column. */
static void add_difference(const struct plane *p, const struct plane *q, int y, uint32_t *restrict sums)
{
	const uint8_t *restrict a = p->data + y * p->line, *restrict b = q->data + y * q->line;
	if (p->depth == 8)
		for (int x = 0; x < p->width; x++)
			sums[x] += FFMAX(a[x], b[x]) - FFMIN(a[x], b[x]);
	else
		for (int x = 0; x < p->width; x++)
			sums[x] += abs(((const uint16_t *)a)[x] - ((const uint16_t *)b)[x]);
}

/* median returns the median of the differences of blocks, in steps of a sixteenth of a level. */
static double median(const double *blocks, int count)
{
	enum { STEPS = 16 };
	uint16_t found[256 * STEPS + 1] = {0};
	int below = 0, i = 0;
	for (int b = 0; b < count; b++)
		found[(int)(FFMIN(blocks[b], 255) * STEPS)]++;
	while ((below += found[i]) <= count / 2)
		i++;
	return (i + 0.5) / STEPS;
}

/* compare_pictures writes how the luma of two pictures of one format and size differs. It returns 0
 * without memory. */
static int compare_pictures(const AVFrame *f, const AVFrame *other, const AVPixFmtDescriptor *format, struct change *to)
{
	double blocks[BLOCKS_ACROSS * BLOCKS_DOWN], total = 0, largest = 0;
	const struct plane p = plane_of(f, format, 0), q = plane_of(other, format, 0);
	const double level = levels(f, p.depth, 0);

	for (int i = 0; i < BLOCKS_DOWN; i++) {
		const int top = begin_of(i, BLOCKS_DOWN, p.height), bottom = end_of(i, BLOCKS_DOWN, p.height);
		uint32_t *sums = columns(p.width);
		if (!sums)
			return 0;
		for (int y = top; y < bottom; y++)
			add_difference(&p, &q, y, sums);
		for (int j = 0; j < BLOCKS_ACROSS; j++) {
			const int left = begin_of(j, BLOCKS_ACROSS, p.width), right = end_of(j, BLOCKS_ACROSS, p.width);
			uint64_t sum = 0;
			for (int x = left; x < right; x++)
				sum += sums[x];
			const double block = fmin(sum * level / ((double)(right - left) * (bottom - top)), 255);
			blocks[i * BLOCKS_ACROSS + j] = block;
			total += block;
			largest = fmax(largest, block);
		}
	}
	to->mean = total / (BLOCKS_ACROSS * BLOCKS_DOWN);
	to->block = largest;
	to->ratio = largest / fmax(median(blocks, BLOCKS_ACROSS * BLOCKS_DOWN), 1);
	return 1;
}
