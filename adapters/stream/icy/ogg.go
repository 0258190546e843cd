package icy

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const ogg = "ogg" // container of watch.Segment

// A page of Ogg (RFC 3533, 6).
const (
	capturePattern = "OggS"

	atFlags, atPosition, atSerial, atNumber, atChecksum, atLacing = 5, 6, 14, 18, 22, 27

	continues    = 1 // flag: the page begins within a packet
	beginsStream = 2 // flag: the first page of a logical stream
)

const (
	maxPage = 10             // seconds that a page may last; a position that is further away has jumped
	noEnd   = math.MaxUint64 // position of a page in which no packet ends
)

// logical is the logical stream of sound in a stream of Ogg: a song, where the songs are chained. Its header is needed to decode
// any of it, so each segment begins with it, but without tags and pictures.
type logical struct {
	rate     uint64 // of the positions, a second; 0: there is no such stream
	name     []byte // with which one begins whose codec is not known
	serial   uint32
	flac     bool   // its codec
	header   []byte // its first pages, without tags
	within   bool   // the last page of the header ended within a packet
	skipping bool   // which is left out
	number   uint32 // of the last of these
	complete bool   // there are no more of these
	position uint64 // at the end of the last page
	began    uint32 // lower half of the position of the segment's first page
	samples  uint64 // in the segment
}

// addPages takes in the pages that are whole. Error: *watch.Failure, undecodable, for a codec that is not known.
func (c *cutter) addPages() error {
	for {
		page, ok := c.nextPage()
		if !ok {
			return nil
		}
		if page[atFlags]&beginsStream != 0 {
			packet := page[atLacing+int(page[atLacing-1]):]
			if rate := rateOf(packet); rate > 0 {
				c.end()
				flac := packet[0] == 0x7f
				if flac {
					packet[7], packet[8] = 0, 0 // how many packets of the header follow is not known: some are left out
				}
				c.logical = logical{rate: rate, flac: flac, serial: binary.LittleEndian.Uint32(page[atSerial:])}
			} else if c.logical.rate == 0 {
				c.logical.name = packet[:min(len(packet), 8)]
			}
		} else if c.logical.rate == 0 {
			return watch.NewFailure(watch.FailureUndecodable, "Ogg with a codec that is none of Vorbis, Opus and FLAC: it begins with %q", c.logical.name)
		}
		if binary.LittleEndian.Uint32(page[atSerial:]) == c.logical.serial {
			c.addPage(page)
		}
	}
}

// nextPage returns the page that rest begins with, once it is whole, and drops it and what precedes it.
func (c *cutter) nextPage() (page []byte, ok bool) {
	if at := bytes.Index(c.rest, []byte(capturePattern)); at >= 0 {
		c.skip(at)
	} else if n := len(c.rest) - len(capturePattern); n > 0 {
		c.skip(n)
	}
	size := pageSize(c.rest)
	if size == 0 {
		return nil, false
	}
	page, c.rest = c.rest[:size], c.rest[size:]
	return page, true
}

// pageSize returns how many bytes the page has that b begins with; 0: it is not whole.
func pageSize(b []byte) int {
	if len(b) < atLacing {
		return 0
	}
	size := atLacing + int(b[atLacing-1])
	if size > len(b) {
		return 0
	}
	for _, n := range b[atLacing:size] {
		size += int(n)
	}
	if size > len(b) {
		return 0
	}
	return size
}

// rateOf returns the rate of the positions of a logical stream by its first packet; 0: its codec is not known. The sources are
// the Vorbis I specification, 4.2.2; RFC 7845, 4; RFC 9639, 10.1 and 8.2.
func rateOf(packet []byte) uint64 {
	switch {
	case bytes.HasPrefix(packet, []byte("\x01vorbis")) && len(packet) >= 16:
		return uint64(binary.LittleEndian.Uint32(packet[12:]))
	case bytes.HasPrefix(packet, []byte("OpusHead")):
		return 48000
	case bytes.HasPrefix(packet, []byte("\x7fFLAC")) && len(packet) >= 31:
		return uint64(binary.BigEndian.Uint32(packet[27:]) >> 12)
	}
	return 0
}

// addPage takes in a page of the logical stream. The first pages, up to one with sound, are its header. A page whose length is
// not known, such as the first one that a listener hears in the middle of a song, is left out.
func (c *cutter) addPage(page []byte) {
	l := &c.logical
	position, number := binary.LittleEndian.Uint64(page[atPosition:]), binary.LittleEndian.Uint32(page[atNumber:])
	if !l.complete && (position == 0 || position == noEnd) {
		kept := l.withoutTags(page)
		l.header, l.number = append(l.header, kept...), number
		c.strange += len(kept)
		c.tags += len(page) - len(kept)
		return
	}
	known, samples := l.complete || number == l.number+1, uint64(0)
	l.complete = true
	if position != noEnd {
		samples, l.position = position-l.position, position // of one that goes back, a huge number
	}
	if !known || samples > maxPage*l.rate {
		c.strange += len(page)
		return
	}
	if c.length == 0 {
		l.began, l.samples = binary.LittleEndian.Uint32(page[atPosition:]), 0
	}
	if position != noEnd {
		l.samples += samples
		binary.LittleEndian.PutUint64(page[atPosition:], l.samples)
	}
	c.take(page, time.Duration(float64(samples)/float64(l.rate)*float64(time.Second)))
}

// withoutTags returns a page of the header with a comment packet that is empty in place of the one that it has, which may have
// pictures. A page of which nothing is left is empty.
func (l *logical) withoutTags(page []byte) []byte {
	lacing := page[atLacing : atLacing+int(page[atLacing-1])]
	from, flags := page[atLacing+len(lacing):], page[atFlags]
	if l.skipping {
		flags &^= continues
	}
	var sizes, packets []byte
	for _, n := range lacing {
		part := from[:n]
		from = from[n:]
		if !l.within {
			var empty []byte
			if empty, l.skipping = l.emptyTags(part); len(empty) > 0 {
				sizes, packets = append(sizes, byte(len(empty))), append(packets, empty...) //nolint:gosec // of at most 16 bytes
			}
		}
		if !l.skipping {
			sizes, packets = append(sizes, n), append(packets, part...)
		}
		l.within = n == math.MaxUint8
		l.skipping = l.skipping && l.within
	}
	if len(sizes) == 0 {
		return nil
	}
	kept := bytes.Clone(page[:atLacing])
	kept[atFlags], kept[atLacing-1] = flags, byte(len(sizes)) //nolint:gosec // at most as many as before
	return append(append(kept, sizes...), packets...)
}

// emptyTags returns what takes the place of a packet of the header that begins like this; ok is false for one that is needed. The
// sources are the Vorbis I specification, 5; RFC 7845, 5.2; RFC 9639, 8 and 10.1.
func (l *logical) emptyTags(packet []byte) (empty []byte, ok bool) {
	const none = "\x00\x00\x00\x00\x00\x00\x00\x00" // no name of an encoder, and no tag
	switch {
	case bytes.HasPrefix(packet, []byte("\x03vorbis")):
		return []byte("\x03vorbis" + none + "\x01"), true
	case bytes.HasPrefix(packet, []byte("OpusTags")):
		return []byte("OpusTags" + none), true
	case !l.flac || len(packet) == 0 || packet[0]&0x7f == 0x7f: // the first packet, or sound
		return nil, false
	case packet[0]&0x7f == 4:
		return []byte("\x84\x00\x00\x08" + none), true
	}
	return nil, true
}

// withHeader returns the pages of a segment as a stream of its own. Its positions begin at 0. Its serial number differs from those of
// the segments around it, so that decoders can tell where in a chain of segments one begins.
func (l *logical) withHeader(pages []byte) []byte {
	if l.rate == 0 {
		return pages
	}
	stream := append(bytes.Clone(l.header), pages...)
	number := uint32(0)
	for page := stream; len(page) > 0; number++ {
		size := pageSize(page)
		binary.LittleEndian.PutUint32(page[atSerial:], l.serial+l.began)
		binary.LittleEndian.PutUint32(page[atNumber:], number)
		binary.LittleEndian.PutUint32(page[atChecksum:], 0)
		binary.LittleEndian.PutUint32(page[atChecksum:], checksum(page[:size]))
		page = page[size:]
	}
	return stream
}

// checksums are those of single bytes: CRC-32 with the polynomial 0x04c11db7, whose bits are in the other order than in hash/crc32.
var checksums = func() (table [256]uint32) {
	for i := range table {
		sum := uint32(i) << 24
		for range 8 {
			high := sum >> 31
			sum = sum<<1 ^ high*0x04c11db7
		}
		table[i] = sum
	}
	return table
}()

// checksum returns that of a page whose own one is 0 (RFC 3533, 6).
func checksum(page []byte) (sum uint32) {
	for _, b := range page {
		sum = sum<<8 ^ checksums[byte(sum>>24)^b]
	}
	return sum
}
