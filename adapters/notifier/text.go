package notifier

import (
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
)

// Lines returns the clean lines of a message; it leaves out empty ones.
func Lines(m message.Message) []string {
	var lines []string
	for _, l := range m.Lines {
		if l = plaintext.Clean(l); l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// Links returns the links of a message that have a URL: to the stream, to the incident, and the
// actions.
func Links(m message.Message) []message.Link {
	var links []message.Link
	for _, l := range append([]message.Link{m.Stream, m.Link}, m.Actions...) {
		if l.URL == "" {
			continue
		}
		if l.Text = plaintext.Clean(l.Text); l.Text == "" {
			l.Text = l.URL
		}
		links = append(links, l)
	}
	return links
}
