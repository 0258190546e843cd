package media

import (
	"context"
	"io"
	"net/http"
	"path"
	"sync"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// FetchSegment opens s: its init section followed by its media, both decrypted.
// It reads the init section and the keys whole before it requests the media.
// Config.Total is for all of them together, and nothing is cached for the next
// segment. While nothing can be had from a URL, FetchSegment tries the Mirrors of s in turn, each
// for at most Config.Total. It begins with the one that answered for the segment before; if none
// answers, the error is that of the first it tried. The caller closes the body, which has a method
// Size. FetchSegment and Read of the body return the errors of Get and, as *watch.Failure:
//
//	malformed     a key is not 16 bytes long
//	truncated     an encrypted resource does not consist of whole blocks
//	undecodable   the padding after decryption is wrong, probably because the key is
func (c *Client) FetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error) {
	folder, count := path.Dir(s.URI), 1+len(s.Mirrors)
	first := c.answering.of(folder) % count
	body, err := c.fetchSegment(ctx, mirror(s, first))
	for i := 1; i < count && err != nil && ctx.Err() == nil; i++ {
		n := (first + i) % count
		if other, otherErr := c.fetchSegment(ctx, mirror(s, n)); otherErr == nil {
			c.answering.set(folder, n)
			return other, nil
		}
	}
	return body, err
}

// mirror returns s with its URLs of number n: 0 is that of s itself.
func mirror(s watch.Segment, n int) watch.Segment {
	if n == 0 {
		return s
	}
	s.URI = s.Mirrors[n-1]
	if s.Init != nil && n <= len(s.Init.Mirrors) {
		init := *s.Init
		init.URI, s.Init = init.Mirrors[n-1], &init
	}
	return s
}

// maxFolders is how many folders of segments have a mirror that is remembered.
const maxFolders = 1000

// mirrorNumbers has the number of the mirror that answered last, by the folder of the segment's
// first URL. A server that is gone would cost its time limit at every segment. It may be used
// concurrently.
type mirrorNumbers struct {
	mu       sync.Mutex
	byFolder map[string]int
}

func (m *mirrorNumbers) of(folder string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byFolder[folder]
}

func (m *mirrorNumbers) set(folder string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byFolder == nil || len(m.byFolder) >= maxFolders {
		m.byFolder = map[string]int{}
	}
	m.byFolder[folder] = n
}

func (c *Client) fetchSegment(ctx context.Context, s watch.Segment) (io.ReadCloser, error) {
	f := c.newFetch(ctx)
	b := &segmentBody{fetch: f}
	if err := b.open(s); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// segmentBody reads an init section and then the media that belongs to it.
type segmentBody struct {
	fetch    *fetch
	init     []byte // not read yet
	size     int64  // bytes that the servers have announced; 0: unknown
	response *response
	media    io.Reader // response, or what it is decrypted to
}

func (b *segmentBody) open(s watch.Segment) error {
	if s.Init != nil {
		response, r, err := b.fetch.requestDecrypted(s.Init.URI, s.Init.Range, MaxInit, s.Init.Key)
		if err == nil {
			b.init, err = response.readAll(r)
		}
		if err != nil {
			return err
		}
	}
	var err error
	b.response, b.media, err = b.fetch.requestDecrypted(s.URI, s.Range, b.fetch.client.config.MaxSegment, s.Key)
	if err == nil {
		b.size = int64(len(b.init)) + b.response.announced()
	}
	return err
}

// requestDecrypted requests a resource. It is encrypted if key is not nil.
// limit is in encrypted bytes, of which there are more than decrypted ones.
func (f *fetch) requestDecrypted(url string, byteRange *watch.ByteRange, limit int64, key *watch.Key) (*response, io.Reader, error) {
	if key == nil {
		r, err := f.request(http.MethodGet, url, byteRange, limit)
		return r, r, err
	}
	mode, err := f.cbcDecrypter(*key)
	if err != nil {
		return nil, nil, err
	}
	r, err := f.request(http.MethodGet, url, byteRange, limit)
	if err != nil {
		return nil, nil, err
	}
	return r, &decrypter{source: r, mode: mode, host: r.host}, nil
}

// Read implements io.Reader.
func (b *segmentBody) Read(p []byte) (int, error) {
	if len(b.init) > 0 {
		n := copy(p, b.init)
		b.init = b.init[n:]
		return n, nil
	}
	return b.media.Read(p)
}

// Size returns how many bytes the servers have announced; 0: unknown. There may be more, and of
// an encrypted segment there are less.
func (b *segmentBody) Size() int64 { return b.size }

// Close aborts what has not been read.
func (b *segmentBody) Close() error {
	defer b.fetch.cancelAll()
	if b.response == nil {
		return nil
	}
	return b.response.http.Body.Close()
}
