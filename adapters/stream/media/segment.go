package media

import (
	"context"
	"io"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FetchSegment opens the bytes of s, its initialisation section first, both
// decrypted. The section, and the keys, are read whole before the segment is
// asked for; the limit of time is for all of them together, and nothing is kept
// for the next segment. Errors as those of Get, from the body's Read too, and
//
//	malformed     a key that is not of 16 bytes
//	truncated     an encrypted resource that is not of whole blocks
//	undecodable   what a resource was decrypted to cannot be right
//
// Close the body.
func (c *Client) FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error) {
	f := c.newFetch(ctx)
	b := &segment{fetch: f}
	if err := b.open(s); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// segment is an initialisation section and the answer that follows it.
type segment struct {
	fetch  *fetch
	init   []byte
	answer *answer
	media  io.Reader // the answer, or what it is decrypted to
}

func (s *segment) open(of watch.Segment) error {
	if of.Init != nil {
		a, r, err := s.fetch.openEncrypted(of.Init.URI, of.Init.Range, MaxInit, of.Init.Key)
		if err == nil {
			s.init, err = a.readAll(r)
		}
		if err != nil {
			return err
		}
	}
	var err error
	s.answer, s.media, err = s.fetch.openEncrypted(of.URI, of.Range, s.fetch.client.config.MaxSegment, of.Key)
	return err
}

// openEncrypted is open, of a resource that may be encrypted. The limit is that
// of the encrypted bytes, which are more than those they are decrypted to.
func (f *fetch) openEncrypted(url string, part *watch.ByteRange, limit int64, key *watch.Key) (*answer, io.Reader, error) {
	var mode blocks
	if key != nil {
		var err error
		if mode, err = f.cbc(*key); err != nil {
			return nil, nil, err
		}
	}
	a, err := f.open(url, part, limit)
	if err != nil || mode == nil {
		return a, a, err
	}
	return a, &decrypted{from: a, mode: mode, host: a.host}, nil
}

func (s *segment) Read(p []byte) (int, error) {
	if len(s.init) > 0 {
		n := copy(p, s.init)
		s.init = s.init[n:]
		return n, nil
	}
	return s.media.Read(p)
}

// Close gives up what has not been read.
func (s *segment) Close() error {
	defer s.fetch.end()
	if s.answer == nil {
		return nil
	}
	return s.answer.resp.Body.Close()
}
