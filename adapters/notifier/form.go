package notifier

import (
	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
)

// FormPart is a field of a form: a text, JSON, or a file.
type FormPart = outbound.FormPart

// FileName returns the name for the file of a picture.
func FileName(p message.Picture) string {
	switch p.MediaType {
	case "image/png":
		return "picture.png"
	case "image/webp":
		return "picture.webp"
	}
	return "picture.jpg"
}
