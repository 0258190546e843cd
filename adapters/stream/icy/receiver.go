package icy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const (
	keepLength  = time.Minute      // of the stream, for evidence and for a look back
	keepBytes   = 8 << 20          // of it
	firstWait   = 15 * time.Second // for the first segment of a request
	steadyAfter = 10 * time.Second // of a request that is made again at once when it ends
	retryPause  = time.Second      // between the two
	settleTime  = time.Second      // of a request, in which media come that are older than now
	maxAhead    = time.Second      // by which media may be ahead of the clock, before they count as sent at once
	maxBehind   = 5 * time.Second  // by which they may come late, before some count as missing
	readSize    = 4 << 10
)

// Receiver keeps the request of one stream open, and presents its media as a playlist. It is a worker.Media, and may be used
// concurrently.
type Receiver struct {
	open    stream.Open
	reading sync.WaitGroup
	end     context.CancelFunc // of the request; called by Close
	ended   context.Context    // done after end

	mu       sync.Mutex
	kept     []segment     // oldest first
	position time.Time     // end of the newest media, also of those that are not kept; zero: the request has had none
	running  bool          // a request is being made or read
	fresh    bool          // it has had a segment
	failure  error         // with which the last request ended
	news     chan struct{} // closed when fresh or running changes
}

// segment is one that is kept.
type segment struct {
	watch.Segment

	bytes []byte
}

// NewReceiver makes a Receiver. It requests nothing before the first reading.
func NewReceiver(open stream.Open) *Receiver {
	r := &Receiver{open: open, news: make(chan struct{})}
	r.ended, r.end = context.WithCancel(context.Background())
	return r
}

// Close ends the request, and waits for it. Nothing is read afterwards.
func (r *Receiver) Close() {
	r.end()
	r.reading.Wait()
}

// ReadPlaylist implements worker.PlaylistReader for the URL of the mount. It begins the request, unless one is under way, and
// waits for its first segment, for firstWait at most.
func (r *Receiver) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running {
		r.begin(ctx, url)
	}
	for r.running && !r.fresh && ctx.Err() == nil {
		news := r.news
		r.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
		}
		r.mu.Lock()
	}
	switch {
	case r.fresh:
		return r.list(url)
	case r.running:
		return watch.Playlist{URL: url, Failure: watch.NewFailure(watch.FailureNetwork, "%s: no %v of sound came within %v", hostOf(url), segmentLength, firstWait)}
	}
	return watch.Playlist{URL: url, Failure: failureOf(r.failure)}
}

// list returns the kept segments as a playlist. Their numbers say nothing: another worker counts anew. mu is held.
func (r *Receiver) list(url string) watch.Playlist {
	p := watch.Playlist{URL: url, TargetDuration: segmentLength}
	for i, s := range r.kept {
		s.Sequence, s.Unnumbered = uint64(i), true
		p.Segments = append(p.Segments, s.Segment)
	}
	return p
}

// FetchSegment implements worker.SegmentFetcher for segments that ReadPlaylist has listed. Error: it is kept no more.
func (r *Receiver) FetchSegment(_ context.Context, s watch.Segment) (io.ReadCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.kept, func(k segment) bool { return k.URI == s.URI })
	if at < 0 {
		return nil, watch.NewFailure(watch.FailureNetwork, "the segment is kept no more: of an audio stream, only the last %v are", keepLength)
	}
	return body{bytes.NewReader(r.kept[at].bytes)}, nil
}

// body has the bytes of a kept segment, and the method Size.
type body struct{ *bytes.Reader }

func (body) Close() error { return nil }

// begin starts the request on a goroutine, with what ctx carries. mu is held.
func (r *Receiver) begin(ctx context.Context, url string) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(r.ended, cancel)
	r.running, r.fresh, r.failure = true, false, nil
	r.reading.Go(func() {
		defer cancel()
		defer stop()
		err := r.run(ctx, url)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running, r.fresh, r.failure = false, false, err
		r.tell()
	})
}

// tell wakes the readings that wait. mu is held.
func (r *Receiver) tell() {
	close(r.news)
	r.news = make(chan struct{})
}

// run makes the request, and makes it again when it ends after it has lasted.
func (r *Receiver) run(ctx context.Context, url string) error {
	for {
		began := time.Now()
		err := r.receive(ctx, url)
		if time.Since(began) < steadyAfter || !wait.For(ctx, retryPause) {
			return err
		}
	}
}

// receive makes one request and reads it to its end.
func (r *Receiver) receive(ctx context.Context, url string) error {
	resp, err := request(ctx, r.open, url)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	r.mu.Lock()
	r.position = time.Time{}
	r.mu.Unlock()
	var c cutter
	buffer, began := make([]byte, readSize), time.Now()
	for {
		n, err := resp.Body.Read(buffer)
		whole, strange := c.add(buffer[:n])
		for _, one := range whole {
			if time.Since(began) > settleTime {
				r.add(url, c.codec.container, one)
			}
		}
		switch {
		case strange != nil:
			return strange
		case err == io.EOF:
			return watch.NewFailure(watch.FailureNetwork, "%s: ended the stream", hostOf(url))
		case err != nil:
			return err
		}
	}
}

// add keeps a segment whose last byte has just come. It goes on where the one before ended, unless the clock says that media
// were sent at once or are missing. Media older than those that are kept are left out.
func (r *Receiver) add(url, container string, c cut) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	start := r.position
	if end := start.Add(c.length); start.IsZero() || end.After(now.Add(maxAhead)) || end.Before(now.Add(-maxBehind)) {
		start = now.Add(-c.length)
	}
	r.position = start.Add(c.length)
	if n := len(r.kept); n > 0 && start.Before(r.kept[n-1].End().Add(-maxAhead)) {
		return
	}
	r.kept = append(r.kept, segment{
		watch.Segment{URI: fmt.Sprintf("%s#%d", url, start.UnixMilli()), Duration: c.length, ProgramTime: start.Round(0), Container: container}, c.bytes,
	})
	r.drop()
	r.fresh = true
	r.tell()
}

// drop forgets the oldest segments beyond keepLength and keepBytes. mu is held.
func (r *Receiver) drop() {
	length, size, first := time.Duration(0), 0, len(r.kept)
	for first > 0 && length < keepLength && size < keepBytes {
		first--
		length, size = length+r.kept[first].Duration, size+len(r.kept[first].bytes)
	}
	r.kept = slices.Delete(r.kept, 0, first)
}
