/*
 * captions.h looks for captions (CEA-608 and CEA-708) in packets of H.264, HEVC and AV1. They are in user
 * data that begin with GA94 (ATSC A/53 part 4, 6.2.3), in front of each picture.
 */
enum { NO_CAPTIONS, EMPTY_CAPTIONS, CAPTION_TEXT };

struct captions {
	int found;          /* user data were, with or without a character */
	int texts[2];       /* characters of both fields of CEA-608 */
	int pairs;          /* of CEA-608 that are not padding */
	int service_data;   /* of CEA-708 */
	int is_programme;   /* the second field has data about the programme (XDS), which look like text */
};

/* add_pair looks at two bytes of CEA-608. The highest bit is parity. */
static void add_pair(struct captions *c, int field, int first, int second)
{
	first &= 0x7f, second &= 0x7f;
	if (first == 0 && second == 0)
		return;
	c->pairs++;
	if (field == 1 && first > 0 && first < 0x10)
		c->is_programme = 1;
	/* A character, or the code of a special or accented one. */
	c->texts[field] += first >= 0x20 || ((first & 0x77) == 0x11 && second >= 0x30 && second < 0x40) || ((first & 0x76) == 0x12 && second >= 0x20 && second < 0x40);
}

/* add_captions looks at the user data after GA94: at most size bytes. In those of H.264 and HEVC, a byte 3
 * after two zeros is not theirs (emulation prevention). */
static void add_captions(struct captions *c, const uint8_t *from, size_t size, int escaped)
{
	uint8_t data[3 + 3 * 31];
	size_t count = 0;
	int zeros = 0;
	for (size_t i = 0; i < size && count < sizeof data; i++) {
		const int skip = escaped && zeros >= 2 && from[i] == 3;
		zeros = from[i] == 0 ? zeros + 1 : 0;
		if (!skip)
			data[count++] = from[i];
	}
	if (count < 3 || data[0] != 3 || !(data[1] & 0x40)) /* user_data_type_code, process_cc_data_flag */
		return;
	c->found = 1;
	for (size_t i = 0; i < (data[1] & 0x1f) && 3 + 3 * i + 3 <= count; i++) {
		const uint8_t *triplet = data + 3 + 3 * i;
		const int valid = triplet[0] & 4, type = triplet[0] & 3;
		if (valid && type < 2)
			add_pair(c, type, triplet[1], triplet[2]);
		else if (valid)
			c->service_data |= triplet[1] | triplet[2];
	}
}

/* search_captions looks for captions in a packet. */
static void search_captions(struct captions *c, const AVPacket *packet, int escaped)
{
	/* itu_t_t35_country_code of the United States, the provider ATSC, user_identifier */
	static const uint8_t mark[] = {0xb5, 0, 0x31, 'G', 'A', '9', '4'};
	const uint8_t *at = packet->data, *end = packet->data + packet->size;
	while (at && at < end && (at = memmem(at, end - at, mark, sizeof mark))) {
		at += sizeof mark;
		add_captions(c, at, end - at, escaped);
	}
}

/* caption_state sums up. Data about the programme are no text. Captions of CEA-708 alone, whose packets
 * are in another order than their pictures, count as text unless they are padding. */
static int caption_state(const struct captions *c)
{
	if (c->texts[0] || (c->texts[1] && !c->is_programme) || (c->pairs == 0 && c->service_data))
		return CAPTION_TEXT;
	return c->found ? EMPTY_CAPTIONS : NO_CAPTIONS;
}
