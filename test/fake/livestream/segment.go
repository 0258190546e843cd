package livestream

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bitstream"
)

const (
	firstTimestamp = 10 * time.Second // of the encoder, so that nothing before it is negative
	segmentsPerKey = 3                // with rotating keys
	lostPacket     = 25               // of Damage: each of that number
)

// Segment returns the bytes of a segment. It may run ffmpeg. Its errors are ErrNotFound, ctx's, and
// ffmpeg's.
func (s *Stream) Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) {
	r, err := s.rendition(itag)
	if err != nil {
		return nil, err
	}
	n, end := int64(sequence), s.published(itag, s.offset())
	// A player may fetch a segment that was listed a moment ago.
	available := 2 * int64(s.config.Window/s.config.Segment)
	if n < 0 || n >= end || n < end-available || s.isGap(n) {
		return nil, fmt.Errorf("segment %d: %w", sequence, ErrNotFound)
	}
	if r.isText() {
		return []byte(s.captionText(n)), nil
	}
	_, media, err := s.media(ctx, r, n)
	if k := s.key(n); err == nil && k != nil {
		return k.encrypt(media)
	}
	return media, err
}

// captionText returns segment n of captions as text: with a cue, or a header alone.
func (s *Stream) captionText(n int64) string {
	offset := s.begin(n)
	header := fmt.Sprintf("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:%d,LOCAL:00:00:00.000\n", ticksOf(firstTimestamp+s.position(offset)))
	if last, _ := s.timeline.last(offset, NoCaptions, Captions); last.Do == NoCaptions {
		return header
	}
	return header + fmt.Sprintf("\n00:00:00.000 --> 00:00:%06.3f\n<v Speaker>Line %d</v>\n", s.config.Segment.Seconds(), n)
}

func (s *Stream) isGap(n int64) bool {
	return slices.ContainsFunc(s.config.Packaging.Gaps, func(at time.Duration) bool { return s.begin(n) <= at && at < s.begin(n)+s.config.Segment })
}

// unit returns the segment of a rendition that begins at an offset.
func (s *Stream) unit(r Rendition, offset time.Duration) unit {
	u := unit{rendition: r, container: s.config.Packaging.Container, length: s.config.Segment, phase: phaseOf(s.position(offset), s.config.Segment)}
	if r.HasVideo() {
		u.black = s.timeline.of(r.Itag).spans(offset, offset+u.length, Black, Picture)
		u.still = s.timeline.spans(offset, offset+u.length, Still, Motion)
		u.uncaptioned = s.timeline.spans(offset, offset+u.length, NoCaptions, Captions)
		u.bars = s.timeline.spans(offset, offset+u.length, Bars, NoBars)
	}
	if r.HasAudio() {
		u.silent = s.timeline.spans(offset, offset+u.length, Silence, Sound)
		u.quiet = s.timeline.spans(offset, offset+u.length, Quiet, Loud)
		u.overloaded = s.timeline.spans(offset, offset+u.length, Overload, NoOverload)
		u.tone = s.timeline.spans(offset, offset+u.length, Bars, NoBars)
		u.leftOnly = s.timeline.spans(offset, offset+u.length, LeftOnly, BothSides)
	}
	return u
}

// position returns the time since the encoder connected.
func (s *Stream) position(offset time.Duration) time.Duration {
	if p := s.config.Packaging; p.Reconnect > 0 && offset >= p.Reconnect {
		return max(0, offset-p.Reconnect-p.ReconnectGap)
	}
	return offset
}

// media returns segment n with its timestamps, and its init section if it is MP4.
func (s *Stream) media(ctx context.Context, r Rendition, n int64) (init, media []byte, err error) {
	offset := s.begin(n)
	media, err = s.library.load(ctx, s.unit(r, offset))
	if err != nil {
		return nil, nil, err
	}
	position := s.position(offset)
	switch p := s.config.Packaging; {
	case p.Container == FMP4:
		init, media = splitMP4(media)
		stampMP4(media, decodeTimes(r, position)...)
	case p.Container == Packed && !r.HasVideo():
		media = withID3Timestamp(media, ticksOf(firstTimestamp)+firstAudioFrame(position)*ticks/sampleRate)
	default:
		stampTS(media, ticksOf(firstTimestamp+position-unitStart))
		if last, _ := s.timeline.last(offset, Damage, NoDamage); last.Do == Damage {
			media = bitstream.WithoutEach(media, lostPacket)
		}
	}
	return init, media, nil
}

// decodeTimes returns the times of the first samples of a rendition's tracks in MP4, in their timescales.
func decodeTimes(r Rendition, position time.Duration) (all []int64) {
	if r.HasVideo() || r.isText() {
		all = append(all, ticksOf(position))
	}
	if r.HasAudio() {
		all = append(all, firstAudioFrame(position))
	}
	return all
}

// file returns the published segments as one file, and where each of them ends.
func (s *Stream) file(ctx context.Context, r Rendition) (all []byte, ends []int64, err error) {
	for n := range s.published(r.Itag, s.offset()) {
		init, media, err := s.media(ctx, r, n)
		if err != nil {
			return nil, nil, err
		}
		if n == 0 {
			all, ends = init, []int64{int64(len(init))}
		}
		all = append(all, media...)
		ends = append(ends, int64(len(all)))
	}
	return all, ends, nil
}

// key is the AES-128 key and IV of a segment.
type key struct {
	number     int64
	secret, iv []byte
	explicitIV bool // the playlist states the IV; otherwise it is the sequence number
}

// key returns the key of segment n, or nil.
func (s *Stream) key(n int64) *key {
	k := &key{iv: make([]byte, aes.BlockSize)}
	switch s.config.Packaging.Keys {
	case Clear:
		return nil
	case Rotating:
		k.number = n / segmentsPerKey
		k.explicitIV = k.number%2 == 0
	case OneKey:
	}
	k.secret = secret("key", k.number)
	if k.explicitIV {
		k.iv = secret("IV", k.number)
	} else {
		binary.BigEndian.PutUint64(k.iv[8:], uint64(n))
	}
	return k
}

// secret returns the bytes of a key or an IV.
func secret(kind string, number int64) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, number))
	return sum[:aes.BlockSize]
}

// encrypt encrypts with AES-128 in CBC mode with PKCS7 padding (RFC 8216, 4.3.2.4).
func (k *key) encrypt(b []byte) ([]byte, error) {
	block, err := aes.NewCipher(k.secret)
	if err != nil {
		return nil, err
	}
	padding := aes.BlockSize - len(b)%aes.BlockSize
	b = append(b, bytes.Repeat([]byte{byte(padding)}, padding)...)
	cipher.NewCBCEncrypter(block, k.iv).CryptBlocks(b, b)
	return b, nil
}
