package ytdlp_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestTitleAndChannelAreTextOnOneLine(t *testing.T) {
	for _, c := range []struct{ json, title, channel string }{
		{`"title":"配信","channel":"C"`, "配信", "C"},
		{`"title":"配信 2026-11-22 21:05","fulltitle":"配信"`, "配信", ""},
		{`"title":" a\n\tb\u0000\u0007c ","channel":null,"uploader":"U"`, "a b c", "U"},
		{`"title":"a\u202egpj.exe\u2066","channel":"b\u200fc"`, "agpj.exe", "bc"},
		{`"title":"<img src=x onerror=alert(1)>"`, "<img src=x onerror=alert(1)>", ""},
		{`"title":7,"channel":{"name":"C"}`, "", ""},
		{`"title":"` + strings.Repeat("é", 300) + `"`, strings.Repeat("é", 200), ""},
		{`"title":"a` + strings.Repeat("é", 300) + `"`, "a" + strings.Repeat("é", 199), ""},
	} {
		got := ytdlp.Read("abcdefghijk", []byte(`{"id":"abcdefghijk","live_status":"is_upcoming","release_timestamp":1795255200,`+c.json+`}`), nil)
		if got.State != watch.Upcoming || got.Title != c.title || got.Channel != c.channel || !got.ScheduledStart.Equal(start) {
			t.Errorf("of %.60s: %+v", c.json, got)
		}
	}
}
