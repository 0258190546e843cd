package ffmpeg_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
)

// The other detectors judge what only segment-decoder measures.
func TestEveryDetectorWithoutARuleHasAFilter(t *testing.T) {
	for _, d := range detector.Table {
		if ffmpeg.HasFilter(d.Name) == (d.Rule != nil) {
			t.Errorf("%s: filter %v, rule %v", d.Name, ffmpeg.HasFilter(d.Name), d.Rule != nil)
		}
	}
}

// The image's ffmpeg is built with exactly the filters that are named here.
func TestTheCommandLineIsBuiltFromTheTable(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	got := ffmpeg.Arguments(func(string) float64 { return -47.5 }, "mpegts", 1000)
	want := []string{
		"-hide_banner", "-nostdin", "-nostats", "-loglevel", "info", "-max_error_rate", "1",
		"-filter_threads", "1", "-threads", "1", "-max_pixels", "1000",
		"-protocol_whitelist", "pipe", "-f", "mpegts", "-i", "pipe:0", "-map", "0:V:0?", "-map", "0:a:0?",
		"-vf", `blackdetect=d=0.1:pix_th=0.10:pic_th=0.98,metadata=mode=add:key=v:value=1,metadata=mode=print:direct=1:file='pipe\:1',` +
			`select='isnan(prev_selected_t)+gte(t-prev_selected_t,1)',scale=64:36:flags=area:out_range=pc,format=yuv420p,signalstats,` +
			`metadata=mode=print:key=lavfi.signalstats.YAVG:direct=1:file='pipe\:1',select=0`,
		"-af", `silencedetect=d=0.1:n=-47.5dB,ametadata=mode=add:key=a:value=1,ametadata=mode=print:direct=1:file='pipe\:2',` +
			`aselect='not(mod(n,6))',astats=metadata=1:reset=1:measure_perchannel=none:measure_overall=RMS_level,` +
			`ametadata=mode=print:key=lavfi.astats.Overall.RMS_level:direct=1:file='pipe\:2',aselect=0`,
		"-f", "null", "-",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
