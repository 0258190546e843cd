/*
 * segment-decoder decodes media segments, one after another, for stream-monitor.
 *
 * It reads requests from its standard input and writes an answer to each to its standard
 * output, until the input ends. It opens no file but /proc/self/statm and no socket, has
 * one thread, and keeps nothing of a segment when it has answered. The caller limits its
 * memory and its time, and starts another if it crashes.
 *
 * All numbers are little-endian; double is IEEE 754. A request is
 *
 *	u32    magic: REQUEST
 *	u32    container: 0 MPEG-TS, 1 MP4, 2 ADTS, 3 MP3, 4 Ogg
 *	u32    look at the picture: WHOLE, SCREEN (key frames) or NOTHING
 *	u32    look at the sound: WHOLE, SCREEN (some frames of each second) or NOTHING
 *	double luma of a black pixel, at most, of its range from 0 to 1
 *	double part of the picture that must be black, from 0 to 1
 *	double amplitude below which a sample is silent, 1 is full scale
 *	double seconds after which silence begins
 *	u64    what to measure: a sum of PICTURES, MOVEMENT, SOUND, TONE, CAPTIONS and DAMAGE
 *	u64    most pixels of a picture
 *	u64    length of the segment in bytes, at most MAX_SEGMENT
 *	bytes  the segment, after its init section if it has one
 *
 * and an answer is
 *
 *	u32    magic: ANSWER
 *	u32    outcome: 0 decoded, 1 unusual (ffmpeg itself has to decide)
 *	u32    resident memory in KiB
 *	u32    length of what follows in bytes
 *
 * An unusual segment is followed by a text that says why. A decoded one by
 *
 *	u32    sum of 1 if a video is announced, 2 if an audio is, 4 if that was screened
 *	u32    1 if the demuxer or a decoder complained, otherwise 0
 *	u32    number of records of the video
 *	u32    number of records of the audio
 *	u32    number of pictures
 *	u32    number of changes
 *	u32    captions: 0 none, 1 without a character, 2 with text
 *	u32    channels of the sound that was measured, 0: none was
 *	u32    blocks of 85 ms that were searched for a tone
 *	double loudness in LUFS of the blocks of 100 ms of at least -50, at least -120
 *	double seconds of these blocks
 *	double share of the blocks with a sample at full scale; -1: the decoder cuts samples
 *	double level of the left and of the right channel in dBFS, at least -120, and
 *	double their correlation, all three of two channels only
 *	double share of the blocks that are a tone of 1 kHz
 *	the records, first those of the video, each
 *	  i64    time in microseconds after the first timestamp of the segment
 *	  u32    kind: 0 a frame (of screened sound: a moment at which it is loud), 1 a bad interval begins,
 *	         2 it ends, 3 a measurement; to find damage, 4 the frame before is a key frame, 5 it is
 *	         damaged, 6 a packet of that time is
 *	  double of a measurement: luma from 0 to 255, or level in dBFS (-inf: digital silence)
 *	the pictures, each
 *	  i64    time
 *	  u32    width and height in pixels
 *	  u32    strips of 18 with colour bars
 *	  bytes  means of 64 x 36 cells of luma, 16 x 9 of U, 16 x 9 of V, of their full range
 *	the changes, each
 *	  i64    time of a frame
 *	  double how it differs from the key frame before: mean of all blocks, that of the block which
 *	         differs most, and its ratio to the median, in levels of 255
 *
 * Pictures are key frames, PICTURE_GAP apart at least. Changes are of every frame, if every frame is
 * decoded. Of screened sound the first RUN and every other is measured. What is not asked for costs nothing.
 *
 * What counts as black and silent is that of ffmpeg's filters blackdetect and
 * silencedetect. Unusual is whatever the command ffmpeg treats in a way of its own: jumps
 * of timestamps, changes of format, tracks without a frame, missing memory.
 *
 * AAC is screened by every PERIOD-th frame. The one before it is decoded for the half of it
 * that they share. A codec or a profile that needs more of the frames before is decoded whole.
 */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/channel_layout.h>
#include <libavutil/pixdesc.h>

#include "captions.h"
#include "picture.h"
#include "sound.h"

#define REQUEST 0x33514453 /* "SDQ3" */
#define ANSWER 0x33414453  /* "SDA3" */
#define MAX_SEGMENT (16 << 20)
#define MAX_RECORDS 100000 /* of a track: half an hour of sound */
#define MAX_PICTURES 256   /* more are not measured */
#define PICTURE_GAP 100000 /* microseconds */
#define IO_BUFFER (64 << 10)
#define AAC_LC 1   /* AV_PROFILE_AAC_LOW, by its name of old FF_PROFILE_AAC_LOW */
#define PERIOD 0.2 /* seconds from one frame of screened sound to the next */
#define RUN 2.048  /* seconds of screened sound that are measured, before as many that are not: 24 blocks of a tone */
#define MICROSECOND ((AVRational){1, 1000000})
#define MAX_JUMP 10000000LL /* of timestamps, in microseconds; ffmpeg corrects longer ones */
#define MAX_STEP_BACK 100000LL
#define MAX_TIME (1LL << 60) /* in microseconds; sums of such times do not overflow */
#define BYTES_PER_PIXEL 20           /* of memory, for which max_pixels leaves room: bytesPerPixel in config.go */
#define H264_BYTES_PER_PIXEL (18 * 3) /* of 18 pictures with 10 bits: h264RanOutOfMemory in outcome.go */

enum { VIDEO, AUDIO, TRACKS };
enum { WHOLE, SCREEN, NOTHING };
enum { FRAME, BEGINS, ENDS, MEASUREMENT, KEY_FRAME, DAMAGED_FRAME, DAMAGED_PACKET };
enum { PICTURES = 1, MOVEMENT = 2, SOUND = 4, TONE = 8, CAPTIONS = 16, DAMAGE = 32 };

struct request {
	uint32_t magic, container, look[TRACKS];
	double black_pixel, black_part, silent, silence_seconds;
	uint64_t measure, max_pixels, length;
};
_Static_assert(sizeof(struct request) == 72, "the request has no padding");

struct record {
	int64_t at;
	uint32_t kind;
	double value;
} __attribute__((packed));

struct track {
	AVStream *stream;
	AVCodecContext *decoder;
	struct record *records;
	size_t count, room;
	int look; /* WHOLE, SCREEN or NOTHING */
	int64_t packets, frames;
	int64_t first;    /* time of the first packet */
	int64_t last_dts; /* of the last packet */
	int64_t next;     /* time at which the next frame is expected */
	int64_t duration; /* of the longest frame of sound */
	int format, width, height, rate, channels;

	int bad;                 /* an interval is open */
	int64_t silent_samples;  /* up to the last one decoded */
	int64_t measured;        /* time of the last measurement */
};

/* job is the segment that is being decoded. */
static struct job {
	struct request request;
	const uint8_t *media;
	size_t at; /* how much of media the demuxer has read */
	AVFormatContext *input;
	struct track tracks[TRACKS];
	int64_t last_dts; /* of the last packet of any track */
	int damaged;
	uint32_t picture_count;
	struct change *changes;
	size_t change_count, change_room;
	AVFrame *key_frame; /* the last one */
	struct captions captions;
	char unusual[200]; /* why; empty: it is not */
} job;

static struct picture pictures[MAX_PICTURES]; /* of the job: the first picture_count */
static struct sound sound;                    /* of the job */

static void unusual(const char *format, ...)
{
	va_list args;
	if (job.unusual[0])
		return; /* the first reason is the cause */
	va_start(args, format);
	vsnprintf(job.unusual, sizeof job.unusual, format, args);
	va_end(args);
}

/* contains reports whether text has one of the words, whatever their case. */
static int contains(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (av_stristr(text, *words))
			return 1;
	return 0;
}

/* on_log reads the messages of libav, because its return codes do not tell everything. */
static void on_log(void *source, int level, const char *format, va_list args)
{
	static const char *const limits[] = {"allocat", "get_buffer() failed", "bad_alloc", "max pixel count", "exceeds limit", NULL};
	static const char *const damage[] = {"error", "corrupt", "invalid", "missing", "mismatch", "conceal", "non-existing", "truncat", "overread", NULL};
	char text[300];
	(void)source;
	if (level > AV_LOG_INFO)
		return;
	vsnprintf(text, sizeof text, format, args);
	if (contains(text, limits))
		unusual("%s", text);
	if (contains(text, damage))
		job.damaged = 1;
}

static int read_media(void *opaque, uint8_t *buffer, int size)
{
	size_t left = job.request.length - job.at;
	(void)opaque;
	if (left == 0)
		return AVERROR_EOF;
	if ((size_t)size > left)
		size = left;
	memcpy(buffer, job.media + job.at, size);
	job.at += size;
	return size;
}

/* grow makes room for one more item of a list. It returns 0 if there are MAX_RECORDS. */
static int grow(void *list, size_t count, size_t *room, size_t size)
{
	void **items = list;
	if (count == *room) {
		size_t next = *room ? FFMIN(2 * *room, MAX_RECORDS) : 512;
		void *more = next == *room ? NULL : realloc(*items, next * size);
		if (!more) {
			unusual("more than %zu frames", count);
			return 0;
		}
		*items = more;
		*room = next;
	}
	return 1;
}

static void record(struct track *t, int64_t at, uint32_t kind, double value)
{
	if (grow(&t->records, t->count, &t->room, sizeof *t->records))
		t->records[t->count++] = (struct record){at, kind, value};
}

/* mark records the beginning or the end of a bad interval. */
static void mark(struct track *t, int bad, int64_t at)
{
	if (bad != t->bad)
		record(t, at, bad ? BEGINS : ENDS, 0);
	t->bad = bad;
}

/* is_black counts dark pixels as blackdetect does, until there are too many others. */
static int is_black(const AVFrame *f, int depth)
{
	const double dark = job.request.black_pixel;
	const int scale = 1 << (depth - 8);
	const unsigned limit = is_full_range(f) ? dark * ((1 << depth) - 1) : 16 * scale + dark * (235 - 16) * scale;
	const int64_t pixels = (int64_t)f->width * f->height;
	int64_t black = 0;

	for (int y = 0; y < f->height; y++) {
		const uint8_t *row = f->data[0] + (ptrdiff_t)y * f->linesize[0];
		unsigned found = 0;
		if (depth == 8)
			for (int x = 0; x < f->width; x++)
				found += row[x] <= limit;
		else
			for (int x = 0; x < f->width; x++)
				found += ((const uint16_t *)row)[x] <= limit;
		black += found;
		if ((double)(black + pixels - (int64_t)(y + 1) * f->width) / pixels < job.request.black_part)
			return 0;
	}
	return 1;
}

/* luma returns the mean luma of a picture, from 0 to 255. */
static double luma(const AVFrame *f, int depth)
{
	const double scale = 1 << (depth - 8);
	double sum = 0;
	for (int y = 0; y < f->height; y++) {
		const uint8_t *row = f->data[0] + (ptrdiff_t)y * f->linesize[0];
		uint64_t line = 0;
		for (int x = 0; x < f->width; x++)
			line += depth == 8 ? row[x] : ((const uint16_t *)row)[x];
		sum += line;
	}
	double mean = sum / ((double)f->width * f->height) / scale;
	if (!is_full_range(f))
		mean = (mean - 16) * 255 / 219;
	return fmin(fmax(mean, 0), 255);
}

/* measure measures a picture: a key frame as such, and any by how it differs from the key frame before. */
static void measure(const struct track *t, const AVFrame *f, const AVPixFmtDescriptor *format, int64_t at, int is_key)
{
	int done = 1;
	if (is_key && job.request.measure & PICTURES && job.picture_count < MAX_PICTURES &&
	    (job.picture_count == 0 || llabs(at - pictures[job.picture_count - 1].at) >= PICTURE_GAP)) {
		struct picture *p = &pictures[job.picture_count++];
		p->at = at;
		done = measure_picture(f, format, p);
	}
	if (done && job.request.measure & MOVEMENT && t->look == WHOLE) {
		struct change c = {.at = at};
		if (!job.key_frame)
			job.key_frame = av_frame_alloc();
		if (!job.key_frame) {
			done = 0;
		} else if (job.key_frame->buf[0] && (done = compare_pictures(f, job.key_frame, format, &c)) &&
			   grow(&job.changes, job.change_count, &job.change_room, sizeof c)) {
			job.changes[job.change_count++] = c;
		}
		if (done && is_key) {
			av_frame_unref(job.key_frame);
			done = av_frame_ref(job.key_frame, f) >= 0;
		}
	}
	if (!done)
		unusual("no memory to measure the picture");
}

/* analyse_picture records a picture, whether it is black, and its luma once a second. */
static void analyse_picture(struct track *t, const AVFrame *f, int64_t at, int is_key)
{
	const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(f->format);
	const AVComponentDescriptor *y = format ? &format->comp[0] : NULL;
	const int depth = y ? y->depth : 0;

	if (!y || format->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_BITSTREAM) ||
	    y->plane != 0 || y->offset != 0 || y->shift != 0 || depth < 8 || depth > 16 || y->step != (depth > 8) + 1) {
		unusual("the pixel format %s", format ? format->name : "without a name");
		return;
	}
	record(t, at, FRAME, 0);
	if (job.request.measure & DAMAGE && is_key)
		record(t, at, KEY_FRAME, 0);
	if (job.request.measure & DAMAGE && f->decode_error_flags)
		record(t, at, DAMAGED_FRAME, 0);
	mark(t, is_black(f, depth), at);
	measure(t, f, format, at, is_key);
	if (t->measured == AV_NOPTS_VALUE || at - t->measured >= 1000000) {
		record(t, at, MEASUREMENT, luma(f, depth));
		t->measured = at;
	}
}

/* to_float returns samples as ±1; they are in f, or in scratch after a conversion. */
static const float *to_float(const AVFrame *f, const uint8_t *samples, int count, float **scratch, unsigned *room)
{
	enum AVSampleFormat format = av_get_packed_sample_fmt(f->format);
	if (format == AV_SAMPLE_FMT_FLT)
		return (const float *)samples;
	av_fast_malloc(scratch, room, count * sizeof(float));
	if (!*scratch)
		return NULL;
	for (int i = 0; i < count; i++)
		switch (format) {
		case AV_SAMPLE_FMT_S16: (*scratch)[i] = ((const int16_t *)samples)[i] / (float)INT16_MAX; break;
		case AV_SAMPLE_FMT_S32: (*scratch)[i] = ((const int32_t *)samples)[i] / (float)INT32_MAX; break;
		case AV_SAMPLE_FMT_DBL: (*scratch)[i] = ((const double *)samples)[i]; break;
		default: return NULL;
		}
	return *scratch;
}

/* analyse_sound records a frame of sound, where silence begins or ends, and the level of every
 * sixth frame. Of screened sound it records where a frame is loud first and last, and each level. */
static void analyse_sound(struct track *t, const AVFrame *f, int64_t at, int channels)
{
	/* Whether one sample is loud is asked for a group at once: that is ten times as fast,
	 * and less than a millisecond off. */
	enum { GROUP = 32 };
	static float *scratch;
	static unsigned room;
	const int planar = av_sample_fmt_is_planar(f->format);
	const int width = planar ? 1 : channels, planes = planar ? channels : 1;
	const int groups = (f->nb_samples + GROUP - 1) / GROUP;
	const double rate = f->sample_rate, most = job.request.silent;
	const int64_t silence = job.request.silence_seconds * rate;
	const int measured = t->look == SCREEN || t->frames % 6 == 0;
	static uint8_t *loud;
	static unsigned loud_room;
	double power = 0;

	av_fast_mallocz(&loud, &loud_room, groups);
	if (!loud) {
		unusual("no memory to look at the sound");
		return;
	}
	memset(loud, 0, groups);
	for (int p = 0; p < planes; p++) {
		const int count = f->nb_samples * width;
		const float *s = to_float(f, f->extended_data[p], count, &scratch, &room);
		const float limit = most;
		if (!s) {
			unusual("the sample format %d", f->format);
			return;
		}
		for (int g = 0; g < groups; g++) {
			const int end = FFMIN((g + 1) * GROUP * width, count);
			int any = 0;
			for (int i = g * GROUP * width; i < end; i++)
				any |= !(fabsf(s[i]) < limit);
			loud[g] |= any;
		}
		for (int i = 0; measured && i < count; i++)
			power += (double)s[i] * s[i];
	}
	if (t->look == SCREEN) {
		int first = 0, last = groups - 1;
		while (first < groups && !loud[first])
			first++;
		while (last > first && !loud[last])
			last--;
		if (first < groups) {
			record(t, at + (int64_t)(first * GROUP * 1e6 / rate), FRAME, 0);
			record(t, at + (int64_t)(last * GROUP * 1e6 / rate), FRAME, 0);
		}
	} else {
		record(t, at, FRAME, 0);
	}
	for (int g = 0; t->look == WHOLE && g < groups; g++) {
		const int from = g * GROUP, to = FFMIN(from + GROUP, f->nb_samples);
		if (loud[g]) {
			t->silent_samples = 0;
			mark(t, 0, at + (int64_t)(from * 1e6 / rate));
			continue;
		}
		t->silent_samples += to - from;
		if (!t->bad && t->silent_samples >= silence)
			mark(t, 1, at + (int64_t)((to - t->silent_samples) * 1e6 / rate));
	}
	if (measured)
		record(t, at, MEASUREMENT, 10 * log10(power / ((double)f->nb_samples * channels)));
}

/* measure_sound takes in a frame of sound. It may not follow the one before. */
static void measure_sound(const AVFrame *f, int channels, int follows)
{
	static float *scratch[MAX_CHANNELS];
	static unsigned room[MAX_CHANNELS];
	const int planar = av_sample_fmt_is_planar(f->format);
	const float *planes[MAX_CHANNELS];

	if (sound.count == 0)
		begin_sound(&sound, f, channels, (job.request.measure & SOUND) != 0, (job.request.measure & TONE) != 0);
	for (int c = 0; c < sound.count; c++) {
		planes[c] = planar || c == 0 ? to_float(f, f->extended_data[c], f->nb_samples * (planar ? 1 : channels), &scratch[c], &room[c]) : planes[0] + c;
		if (!planes[c]) {
			unusual("no memory to measure the sound");
			return;
		}
	}
	if (!follows)
		begin_tone_block(&sound);
	add_sound(&sound, planes, planar ? 1 : channels, f->nb_samples);
}

/* microseconds returns a time of the container; a segment with times beyond MAX_TIME is unusual. */
static int64_t microseconds(const struct track *t, int64_t time)
{
	const int64_t at = av_rescale_q(time, t->stream->time_base, MICROSECOND);
	if (at >= -MAX_TIME && at <= MAX_TIME)
		return at;
	unusual("a time of %" PRId64 " microseconds", at);
	return AV_NOPTS_VALUE;
}

/* position returns the place of the current packet of screened sound in a period: 0 is decoded for
 * the next one, 1 is looked at, the others are skipped. */
static int64_t position(const struct track *t)
{
	const int64_t period = t->duration > 0 ? PERIOD * 1e6 / t->duration : 2;
	return t->packets % FFMAX(period, 2);
}

/* place returns the place of the current packet of screened sound in a run that is measured: 0 is decoded for
 * the next one, which is 1. It is -1 for a packet that is not measured. */
static int64_t place(const struct track *t)
{
	const int64_t run = t->duration > 0 ? FFMAX(lrint(RUN * 1e6 / t->duration), 1) : 1, at = t->packets % (2 * run);
	return job.request.measure & (SOUND | TONE) && at <= run ? at : -1;
}

/* analyse_frame records a decoded frame, and what is bad in it. */
static void analyse_frame(struct track *t, const AVFrame *f)
{
	int64_t at = t->next;
	const int64_t step = f->sample_rate > 0 ? (int64_t)f->nb_samples * 1000000 / f->sample_rate : 0;
	const int is_sound = t == &job.tracks[AUDIO];
	const int channels = f->ch_layout.nb_channels; /* since FFmpeg 5.1 */
#ifdef AV_FRAME_FLAG_KEY
	const int key = (f->flags & AV_FRAME_FLAG_KEY) != 0;
#else
	const int key = f->key_frame;
#endif

	if (!is_sound && t->look == SCREEN && !key)
		return;
	if (f->best_effort_timestamp != AV_NOPTS_VALUE)
		at = microseconds(t, f->best_effort_timestamp);
	if (at == AV_NOPTS_VALUE) {
		unusual("a frame without a time");
		return;
	}
	if (t->frames > 0 && (t->format != f->format || t->width != f->width || t->height != f->height || t->rate != f->sample_rate || t->channels != channels)) {
		unusual("the format changes");
		return;
	}
	t->format = f->format, t->width = f->width, t->height = f->height, t->rate = f->sample_rate, t->channels = channels;
	if (is_sound && (f->sample_rate <= 0 || channels <= 0)) {
		unusual("sound without a sampling rate");
		return;
	}
	if (is_sound && t->frames == 0 && t->decoder->profile != AAC_LC)
		t->look = WHOLE;
	if (is_sound && job.request.measure & (SOUND | TONE) && (t->look == WHOLE || place(t) > 0))
		measure_sound(f, channels, t->look == WHOLE || place(t) > 1);
	if (!is_sound)
		analyse_picture(t, f, at, key);
	else if (t->look == WHOLE || position(t) == 1)
		analyse_sound(t, f, at, channels);
	t->frames++;
	t->duration = FFMAX(t->duration, step);
	t->next = is_sound ? at + step : AV_NOPTS_VALUE;
}

/* decode passes a packet to the decoder, or NULL at the end, and looks at the frames. */
static void decode(struct track *t, const AVPacket *packet)
{
	static AVFrame *frame;
	int e = avcodec_send_packet(t->decoder, packet);
	if (!frame)
		frame = av_frame_alloc();
	if (e == AVERROR(ENOMEM) || !frame)
		unusual("no memory to decode");
	if (e < 0 && e != AVERROR_EOF)
		job.damaged = 1;
	while (!job.unusual[0]) {
		e = avcodec_receive_frame(t->decoder, frame);
		if (e == AVERROR(EAGAIN) || e == AVERROR_EOF)
			return;
		if (e == AVERROR(ENOMEM))
			unusual("no memory to decode");
		if (e < 0) {
			job.damaged = 1;
			return;
		}
		analyse_frame(t, frame);
		av_frame_unref(frame);
	}
}

/* is_needed reports whether to decode a packet. */
static int is_needed(const struct track *t, const AVPacket *p)
{
	if (t->look != SCREEN)
		return t->look == WHOLE;
	if (t == &job.tracks[VIDEO])
		return (p->flags & AV_PKT_FLAG_KEY) != 0;
	return position(t) < 2 || place(t) >= 0;
}

/* decode_packet decodes a packet, unless its timestamps jump so far that ffmpeg would correct them. */
static void decode_packet(struct track *t, const AVPacket *p)
{
	if (p->pts != AV_NOPTS_VALUE && t->first == AV_NOPTS_VALUE)
		t->first = microseconds(t, p->pts);
	if (p->dts != AV_NOPTS_VALUE) {
		const int64_t dts = microseconds(t, p->dts);
		const int64_t last = t->last_dts != AV_NOPTS_VALUE ? t->last_dts : job.last_dts;
		if (dts == AV_NOPTS_VALUE)
			return;
		if (last != AV_NOPTS_VALUE && (dts - last > MAX_JUMP || last - dts > (t->last_dts == AV_NOPTS_VALUE ? MAX_JUMP : MAX_STEP_BACK))) {
			unusual("timestamps jump from %" PRId64 " to %" PRId64 " microseconds", last, dts);
			return;
		}
		t->last_dts = job.last_dts = dts;
	}
	if (t == &job.tracks[VIDEO]) {
		const int64_t at = p->pts != AV_NOPTS_VALUE ? microseconds(t, p->pts) : t->last_dts;
		if (job.request.measure & DAMAGE && p->flags & AV_PKT_FLAG_CORRUPT && at != AV_NOPTS_VALUE)
			record(t, at, DAMAGED_PACKET, 0);
		if (job.request.measure & CAPTIONS)
			search_captions(&job.captions, p, t->stream->codecpar->codec_id != AV_CODEC_ID_AV1);
	}
	if (is_needed(t, p))
		decode(t, p);
	else if (t->next != AV_NOPTS_VALUE)
		t->next = t->duration + (p->pts != AV_NOPTS_VALUE ? microseconds(t, p->pts) : t->next);
	t->packets++;
}

static void open_decoder(struct track *t, int is_video)
{
	const AVCodec *codec = avcodec_find_decoder(t->stream->codecpar->codec_id);
	AVCodecContext *c;
	t->look = job.request.look[is_video ? VIDEO : AUDIO];
	if (!is_video && t->look == SCREEN && t->stream->codecpar->codec_id != AV_CODEC_ID_AAC)
		t->look = WHOLE;
	if (t->look == NOTHING)
		return;
	t->decoder = c = codec ? avcodec_alloc_context3(codec) : NULL;
	if (!c || avcodec_parameters_to_context(c, t->stream->codecpar) < 0) {
		unusual("no decoder of the %s", is_video ? "picture" : "sound");
		return;
	}
	c->thread_count = 1;
	c->max_pixels = job.request.max_pixels;
	c->pkt_timebase = t->stream->time_base;
	if (is_video && t->look == SCREEN) {
		c->skip_frame = AVDISCARD_NONKEY;
		c->skip_loop_filter = AVDISCARD_ALL; /* it smoothes, and darkens nothing */
	}
	if (avcodec_open2(c, codec, NULL) < 0)
		unusual("the decoder of the %s refuses it", is_video ? "picture" : "sound");
}

/* must_probe reports whether the container alone does not say all about the tracks. */
static int must_probe(const AVFormatContext *in)
{
	int found[TRACKS] = {0};
	if (job.request.container != 0)
		return 1; /* edit lists and priming move the first time; there is little to probe */
	for (unsigned i = 0; i < in->nb_streams; i++) {
		const AVCodecParameters *p = in->streams[i]->codecpar;
		const int video = p->codec_type == AVMEDIA_TYPE_VIDEO && (p->codec_id == AV_CODEC_ID_H264 || p->codec_id == AV_CODEC_ID_HEVC);
		const int audio = p->codec_type == AVMEDIA_TYPE_AUDIO && p->codec_id == AV_CODEC_ID_AAC;
		if (video + audio != 1 || found[video ? VIDEO : AUDIO]++)
			return 1;
	}
	return in->nb_streams == 0;
}

/* open_input reads the header and chooses the first picture and the first sound. */
static int open_input(AVIOContext *io)
{
	static const char *const demuxers[] = {"mpegts", "mov", "aac", "mp3", "ogg"};
	AVFormatContext *in = avformat_alloc_context();
	int announced = 0, e;

	if (!in) {
		unusual("no memory to open it");
		return 0;
	}
	in->pb = io;
	in->flags |= AVFMT_FLAG_CUSTOM_IO;
	in->max_streams = 64;
	if ((e = avformat_open_input(&in, NULL, av_find_input_format(demuxers[job.request.container]), NULL)) < 0) {
		unusual("%s", av_err2str(e)); /* in is freed */
		return 0;
	}
	job.input = in;
	if (must_probe(in) && (e = avformat_find_stream_info(in, NULL)) < 0) {
		unusual("%s", av_err2str(e));
		return 0;
	}
	for (unsigned i = 0; i < in->nb_streams; i++) {
		AVStream *s = in->streams[i];
		const int picture = s->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !(s->disposition & AV_DISPOSITION_ATTACHED_PIC);
		const int sound = s->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
		struct track *t = &job.tracks[picture ? VIDEO : AUDIO];
		if ((picture || sound) && !t->stream) {
			announced |= picture ? 1 : 2;
			t->stream = s;
			open_decoder(t, picture);
		} else {
			s->discard = AVDISCARD_ALL;
		}
	}
	return announced;
}

/* finish lets the decoders return what they hold, and refuses what has no frame. */
static void finish(int announced)
{
	for (int i = 0; i < TRACKS && !job.unusual[0]; i++) {
		struct track *t = &job.tracks[i];
		if (!t->stream || t->look == NOTHING)
			continue;
		decode(t, NULL);
		if (t->frames == 0 && !(i == VIDEO && t->look == SCREEN && announced == 3 && t->last_dts != AV_NOPTS_VALUE))
			unusual("a track without a frame");
		/* An H.264 decoder may not say that memory is missing. */
		if (job.damaged && (int64_t)t->width * t->height * H264_BYTES_PER_PIXEL > (int64_t)job.request.max_pixels * BYTES_PER_PIXEL)
			unusual("damaged, and large");
	}
	if (!announced)
		unusual("no track");
}

/* start_time returns the time of the segment from which the times of records count. */
static int64_t start_time(void)
{
	int64_t first = AV_NOPTS_VALUE;
	if (job.input->start_time != AV_NOPTS_VALUE)
		return job.input->start_time;
	for (int i = 0; i < TRACKS; i++)
		if (job.tracks[i].first != AV_NOPTS_VALUE && (first == AV_NOPTS_VALUE || job.tracks[i].first < first))
			first = job.tracks[i].first;
	return first == AV_NOPTS_VALUE ? 0 : first;
}

/* analyse decodes job.media and returns which tracks are announced. */
static int analyse(AVPacket *packet)
{
	uint8_t *buffer = av_malloc(IO_BUFFER);
	AVIOContext *io = buffer ? avio_alloc_context(buffer, IO_BUFFER, 0, NULL, read_media, NULL, NULL) : NULL;
	int announced = 0, e = 0;

	if (io)
		announced = open_input(io);
	else
		unusual("no memory to read it");
	while (!job.unusual[0] && (e = av_read_frame(job.input, packet)) >= 0) {
		AVStream *s = job.input->streams[packet->stream_index];
		if (packet->flags & AV_PKT_FLAG_CORRUPT)
			job.damaged = 1;
		for (int i = 0; i < TRACKS; i++)
			if (job.tracks[i].stream == s)
				decode_packet(&job.tracks[i], packet);
		if (s->discard != AVDISCARD_ALL && s != job.tracks[VIDEO].stream && s != job.tracks[AUDIO].stream)
			unusual("a track that was not announced");
		av_packet_unref(packet);
	}
	av_packet_unref(packet);
	if (e < 0 && e != AVERROR_EOF)
		job.damaged = 1;
	finish(announced);
	const int64_t start = job.unusual[0] ? 0 : start_time();
	if (start < -MAX_TIME || start > MAX_TIME)
		unusual("it starts at %" PRId64 " microseconds", start);
	for (int i = 0; !job.unusual[0] && i < TRACKS; i++)
		for (size_t r = 0; r < job.tracks[i].count; r++)
			job.tracks[i].records[r].at -= start;
	for (uint32_t i = 0; i < job.picture_count; i++)
		pictures[i].at -= start;
	for (size_t i = 0; i < job.change_count; i++)
		job.changes[i].at -= start;
	for (int i = 0; i < TRACKS; i++)
		avcodec_free_context(&job.tracks[i].decoder);
	avformat_close_input(&job.input);
	if (io)
		av_freep(&io->buffer);
	avio_context_free(&io);
	return announced;
}

/* read_all returns 1, or 0 if the input ends before. */
static int read_all(void *to, size_t size)
{
	for (uint8_t *at = to; size > 0;) {
		ssize_t n = read(STDIN_FILENO, at, size);
		if (n == 0 || (n < 0 && errno != EINTR))
			return 0;
		if (n > 0)
			at += n, size -= n;
	}
	return 1;
}

static void write_all(const void *from, size_t size)
{
	for (const uint8_t *at = from; size > 0;) {
		ssize_t n = write(STDOUT_FILENO, at, size);
		if (n < 0 && errno != EINTR)
			exit(1);
		if (n > 0)
			at += n, size -= n;
	}
}

/* resident returns the memory of this process in KiB. */
static uint32_t resident(void)
{
	static int file = -1;
	char text[100] = "";
	long pages = 0;
	if (file < 0)
		file = open("/proc/self/statm", O_RDONLY);
	if (file >= 0 && pread(file, text, sizeof text - 1, 0) > 0)
		sscanf(text, "%*d %ld", &pages);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void answer(int announced)
{
	const int failed = job.unusual[0] != 0;
	struct track *v = &job.tracks[VIDEO], *a = &job.tracks[AUDIO];
	const int screened = a->stream && a->look == SCREEN;
	const struct {
		uint32_t counts[7];
		struct sound_measure sound;
	} __attribute__((packed)) body = {
		{announced | screened << 2, job.damaged, v->count, a->count, job.picture_count, job.change_count, caption_state(&job.captions)},
		end_sound(&sound),
	};
	const size_t size = failed ? strlen(job.unusual) : sizeof body + (v->count + a->count) * sizeof(struct record) +
		job.picture_count * sizeof(struct picture) + job.change_count * sizeof(struct change);
	const uint32_t head[] = {ANSWER, failed, resident(), size};

	write_all(head, sizeof head);
	if (failed) {
		write_all(job.unusual, size);
		return;
	}
	write_all(&body, sizeof body);
	write_all(v->records, v->count * sizeof *v->records);
	write_all(a->records, a->count * sizeof *a->records);
	write_all(pictures, job.picture_count * sizeof *pictures);
	write_all(job.changes, job.change_count * sizeof *job.changes);
}

int main(int count, char **arguments)
{
	uint8_t *media = NULL;
	size_t room = 0;
	AVPacket *packet = av_packet_alloc();

	if (count > 1) {
		printf("segment-decoder 2 with libavcodec %u.%u.%u\n", avcodec_version() >> 16, avcodec_version() >> 8 & 255, avcodec_version() & 255);
		return strcmp(arguments[1], "--version") != 0;
	}
	av_log_set_callback(on_log);
	while (packet && read_all(&job.request, sizeof job.request)) {
		const size_t size = job.request.length;
		if (job.request.magic != REQUEST || job.request.container > 4 || size > MAX_SEGMENT)
			return 2;
		if (size > room) {
			free(media);
			media = malloc(size);
			room = media ? size : 0;
		}
		if (!media || !read_all(media, size))
			return 3;
		job.media = media;
		job.last_dts = AV_NOPTS_VALUE;
		for (int i = 0; i < TRACKS; i++) {
			struct track *t = &job.tracks[i];
			t->first = t->last_dts = t->next = t->measured = AV_NOPTS_VALUE;
		}
		answer(analyse(packet));
		for (int i = 0; i < TRACKS; i++)
			free(job.tracks[i].records);
		free(job.changes);
		av_frame_free(&job.key_frame);
		memset(&job, 0, sizeof job);
		sound.count = 0;
	}
	return 0;
}
