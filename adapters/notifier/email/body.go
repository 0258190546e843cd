package email

import (
	"html"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
)

// Limits in units of UTF-16. No standard has them, and nobody reads more.
const (
	maxTitle = 200
	maxLines = 20000
	maxLabel = 100
	maxAlt   = 500
)

// pictureID names the picture within the mail.
const pictureID = "picture"

// asText writes the part for programs that show no HTML.
func asText(title, lines string, m message.Message) string {
	var s strings.Builder
	s.WriteString(title + "\n\n" + lines + "\n")
	for _, l := range links(m) {
		s.WriteString("\n" + l.Text + ": " + l.URL)
	}
	return s.String() + "\n"
}

// asHTML writes the other part. It loads nothing from elsewhere: the picture is within.
func asHTML(title, lines string, m message.Message) string {
	var s strings.Builder
	s.WriteString("<!DOCTYPE html>\n<html><body style=\"font-family:sans-serif\">\n<h3>" + html.EscapeString(title) + "</h3>\n")
	if lines != "" {
		s.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(lines), "\n", "<br>\n") + "</p>\n")
	}
	if m.Picture != nil && len(m.Picture.Bytes) > 0 {
		alt := plaintext.Cut(plaintext.Clean(m.Picture.Alt), maxAlt, plaintext.UTF16Length)
		s.WriteString("<p><img src=\"cid:" + pictureID + "\" style=\"max-width:100%\" alt=\"" + html.EscapeString(alt) + "\"></p>\n")
	}
	for _, l := range links(m) {
		s.WriteString("<p><a href=\"" + html.EscapeString(l.URL) + "\">" + html.EscapeString(l.Text) + "</a></p>\n")
	}
	s.WriteString("</body></html>\n")
	return s.String()
}

func links(m message.Message) []message.Link {
	all := notifier.Links(m)
	for i := range all {
		all[i].Text = plaintext.Cut(all[i].Text, maxLabel, plaintext.UTF16Length)
	}
	return all
}
