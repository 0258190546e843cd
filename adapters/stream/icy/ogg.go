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

	beginsStream = 2 // flag: the first page of a logical stream
)

const (
	maxPage = 10             // seconds that a page may last; a position that is further away has jumped
	noEnd   = math.MaxUint64 // position of a page in which no packet ends
)

// logical is the logical stream of sound in a stream of Ogg: a song, where the songs are chained. Its header is needed to decode
// any of it, so each segment begins with it.
type logical struct {
	rate     uint64 // of the positions, a second; 0: there is no such stream
	name     []byte // with which one begins whose codec is not known
	serial   uint32
	header   []byte // its first pages
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
				c.logical = logical{rate: rate, serial: binary.LittleEndian.Uint32(page[atSerial:])}
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
		l.header, l.number = append(l.header, page...), number
		c.strange += len(page)
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

// withHeader returns the pages of a segment as a stream of its own. Its positions begin at 0, and neither the segment before it nor
// the one after it has its serial number, so that decoders can tell where in a chain of segments one begins.
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
