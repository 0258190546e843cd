package ytdlp_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// BenchmarkQuestion reports the CPU time of yt-dlp for a question, as a command and in a
// fork. It asks about a live stream and about one that has not begun.
func BenchmarkQuestion(b *testing.B) {
	y := pythontooltest.YouTube(b)
	path := pythontooltest.Find(b, "YTDLP_PATH", "yt-dlp")
	server := ytdlp.NewForkServer(path, nil, discardLog)
	b.Cleanup(server.Close)
	y.Add("live_______", youtube.Video{State: youtube.Live, Source: pythontooltest.Ladder{}})
	y.Add("upcoming___", youtube.Video{State: youtube.Upcoming, Source: pythontooltest.Ladder{}, Scheduled: time.Now().Add(time.Hour)})
	for _, id := range []string{"live_______", "upcoming___"} {
		command := subprocess.Command{Path: path, Args: ytdlp.Arguments(ytdlp.New(ytdlp.Config{}, discardLog), y.URL(id)), MaxOutput: ytdlp.MaxOutput}
		for way, run := range map[string]func() (subprocess.Result, error){
			"command": func() (subprocess.Result, error) { return subprocess.Run(b.Context(), command) },
			"fork":    func() (subprocess.Result, error) { return server.Run(b.Context(), command) },
		} {
			b.Run(id+"/"+way, func(b *testing.B) {
				var cpu time.Duration
				for b.Loop() {
					res, err := run()
					if err != nil || len(res.Stdout) == 0 {
						b.Fatalf("%v: %s", err, res.Stderr)
					}
					cpu += res.CPUTime
				}
				b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}
