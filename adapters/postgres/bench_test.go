package postgres_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// signedURL returns a URL as long as those of YouTube. Its signature does not compress.
func signedURL(r *rand.Rand, path string) string {
	url := "https://rr4---sn-oguesn6d.googlevideo.com/videoplayback/" + path
	for i := range 24 {
		url += fmt.Sprintf("/parameter%d/%x", i, r.Uint64())
	}
	return url
}

// BenchmarkReport stores reports of calm streams. WAL-B/op is how many bytes of the write-ahead
// log PostgreSQL writes for each. The snapshot has the URLs of a playlist and of two segments.
func BenchmarkReport(b *testing.B) {
	for _, every := range []int{1, 6} {
		b.Run("a snapshot in every "+strconv.Itoa(every), func(b *testing.B) {
			name := database(b)
			s, db := open(b, name), raw(b, name)
			r := rand.New(rand.NewPCG(1, 2))
			m, playlist := register(b, s, 1), signedURL(r, "playlist")
			position := func() (bytes int64) {
				check(b, db.QueryRow(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn`).Scan(&bytes))
				return bytes
			}
			began, n := position(), 0
			for b.Loop() {
				one := report()
				one.At = noon.Add(time.Duration(n) * 10 * time.Second)
				one.Snapshot = nil
				if n%every == 0 {
					one.Snapshot = json.RawMessage(fmt.Sprintf(`{"playlist":%q,"newest":%q,"screened":%q,"at":%d}`, playlist, signedURL(r, "newest"), signedURL(r, "screened"), n))
				}
				acceptReport(b, s, m.ID, one, monitor.Run)
				n++
			}
			b.ReportMetric(float64(position()-began)/float64(n), "WAL-B/op")
		})
	}
}

// BenchmarkFeed measures the time from the answer to a report until a reader at another gateway has its
// alert, the slowest of 100 as p99-ms. writers report alerts beside it, as fast as they can.
func BenchmarkFeed(b *testing.B) {
	for _, writers := range []int{0, 8, 64} {
		b.Run(fmt.Sprint(writers, " writers"), func(b *testing.B) {
			dsn := database(b)
			s, other := open(b, dsn), open(b, dsn)
			m := register(b, s, 0)
			startFeed(b, s, feeds.Config{})
			readers := startFeed(b, other, feeds.Config{})
			from := must(readers.Follow("", presentPosition(b, other)))(b)
			defer from.Close()
			var stored atomic.Int64
			for w := range writers {
				of := register(b, s, w+1)
				go func() {
					for n := 0; b.Context().Err() == nil; n++ {
						if _, err := s.Accept(b.Context(), of.ID, report(blackout(n))); err == nil {
							stored.Add(1)
						}
					}
				}()
			}
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				alert := blackout(n)
				acceptReport(b, s, m.ID, report(alert), monitor.Run)
				began := time.Now()
				for seen := false; !seen; {
					messages := must(from.Next(b.Context()))(b)
					for _, m := range messages {
						seen = seen || strings.Contains(string(m.Line), alert.ID)
					}
				}
				took = append(took, time.Since(began))
			}
			b.ReportMetric(float64(stored.Load())/b.Elapsed().Seconds(), "alerts/s-beside")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
