package postgres_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

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
				if err := db.QueryRow(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn`).Scan(&bytes); err != nil {
					b.Fatal(err)
				}
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
