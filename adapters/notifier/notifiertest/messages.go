package notifiertest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// ids counts the messages and the threads of the tests.
var ids atomic.Int64

func newID() string { return fmt.Sprintf("0190a5c8-e4b0-7d8a-9c1d-%012d", ids.Add(1)) }

// example returns a message of a kind, as templates make it, in a thread of its own.
func example(kind notify.MessageKind, language notify.Language) message.Message {
	m := message.Message{
		ID:       newID(),
		ThreadID: newID(),
		Kind:     kind,
		Push:     kind == notify.Opened || kind == notify.Worse || kind == notify.Reopened || kind == notify.Repeated,
		Language: language,
		Open:     kind != notify.Recovered,
		Severity: 2,
		Title:    "🔴 CRITICAL｜Black video, 35 s｜CHANNEL",
		Lines:    []string{"Since 20:14:55 JST. The sound is fine.", "First: the output of the encoder."},
		Link:     message.Link{Text: "Incident", URL: "https://monitor.example/ui/incidents/1?a=1&b=2"},
		Stream:   message.Link{Text: "Stream", URL: "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=1"},
		Actions:  []message.Link{{Text: "Acknowledge", URL: "https://monitor.example/act/_abc_.d-_ef_"}, {Text: "Silence for 1 h", URL: "https://monitor.example/act/ghi.jkl"}},
		At:       time.Date(2026, 1, 15, 11, 14, 55, 0, time.UTC),
	}
	if kind == notify.Recovered {
		m.Title = "✅ RESOLVED｜Black video, 4 min 12 s｜CHANNEL"
	}
	if language == notify.Japanese {
		m.Title = "🔴 重大｜映像が真っ黒 35秒｜CHANNEL"
		m.Lines = []string{"20:14:55 JSTから継続中。音声は正常。", "まず: エンコーダーの出力"}
		m.Stream.Text, m.Link.Text = "配信", "障害"
		m.Actions[0].Text, m.Actions[1].Text = "対応する", "1時間ミュート"
	}
	return m
}

// after returns a message of a kind in the thread of an earlier one.
func after(earlier message.Message, ref string, kind notify.MessageKind, language notify.Language) message.Message {
	m := example(kind, language)
	m.ThreadID, m.Ref = earlier.ThreadID, ref
	return m
}

// picture is the smallest JPEG that providers take.
func picture() *message.Picture {
	return &message.Picture{
		Alt: "the last good picture", URL: "https://monitor.example/evidence/1.jpg?signature=abc&until=1",
		MediaType: "image/jpeg", Bytes: []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"),
	}
}

// hostileText is what a stranger may call a stream to format, to link or to notify.
const hostileText = `*b* _i_ ~~s~~ __u__ ||x|| ` + "`c`" + ` <!channel> <!here|x> <@U024BE7LH> <@&123> @everyone @here ` +
	`&amp; &lt; <b>x</b> <script>alert(1)</script> <img src=x> [good](https://evil.example/) <https://evil.example/|good> ` +
	`{{DATE(2020-01-01T00:00:00Z)}} :fire: \*x\* \ # h | t "q" 'a' %s ${x} $(x) -- end`
