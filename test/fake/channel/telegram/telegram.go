// Package telegram fakes the Bot API of Telegram.
package telegram

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// Credentials and chats that the fake accepts.
const (
	Token      = "110201543:AAHdqTcvCH1vGWJxfSe1geheimPALDsaw"
	ChatID     = "-1001234567890"
	OldChatID  = "-4242" // a group that has become a supergroup, ChatID
	maxText    = 4096
	maxCaption = 1024
	maxPhoto   = 10 << 20
)

// Server fakes Telegram.
type Server struct {
	*channel.Server

	// BadPictures makes it refuse to process pictures.
	BadPictures bool

	// Moved makes it say of every chat that it has become another one.
	Moved bool
}

// New starts a server. Close ends it.
func New() *Server {
	s := &Server{}
	s.Server = channel.NewServer(map[string]channel.Handler{
		"POST /bot" + Token + "/{method}": s.call,
		"/":                               func(*http.Request) channel.Answer { return answer(http.StatusUnauthorized, "Unauthorized", nil) },
	}, refuse)
	return s
}

func answer(status int, description string, parameters map[string]any) channel.Answer {
	v := map[string]any{"ok": false, "error_code": status, "description": description}
	if parameters != nil {
		v["parameters"] = parameters
	}
	return channel.Answer{Status: status, Body: v}
}

func refuse(status int, after time.Duration) channel.Answer {
	if status == http.StatusTooManyRequests {
		// Telegram sends no header that says how long to wait.
		return answer(status, fmt.Sprintf("Too Many Requests: retry after %d", channel.Seconds(after)), map[string]any{"retry_after": channel.Seconds(after)})
	}
	return answer(status, http.StatusText(status), nil)
}

// request holds the fields of a request, and the sizes of its files by field.
type request struct {
	fields map[string]string
	files  map[string]int
}

func (s *Server) call(r *http.Request) channel.Answer {
	fields, files, err := channel.ReadForm(r)
	if err != nil {
		return answer(http.StatusBadRequest, "Bad Request: can't parse the request", nil)
	}
	id, _ := strconv.ParseInt(ChatID, 10, 64)
	switch chat := fields["chat_id"]; {
	case chat == OldChatID, s.Moved:
		return answer(http.StatusBadRequest, "Bad Request: group chat was upgraded to a supergroup chat", map[string]any{"migrate_to_chat_id": id})
	case chat != ChatID:
		return answer(http.StatusBadRequest, "Bad Request: chat not found", nil)
	}
	req := request{fields, map[string]int{}}
	for _, f := range files {
		req.files[f.Field] = f.Size
	}
	m, refusal := s.handle(r.PathValue("method"), req)
	if refusal != "" {
		return answer(http.StatusBadRequest, "Bad Request: "+refusal, nil)
	}
	message, _ := strconv.Atoi(m.ID)
	return channel.OK(map[string]any{"ok": true, "result": map[string]any{"message_id": message, "chat": map[string]any{"id": id}}})
}

func (s *Server) handle(method string, req request) (m channel.Message, refusal string) {
	most, text, mode := maxText, req.fields["text"], req.fields["parse_mode"]
	switch method {
	case "sendMessage", "editMessageText":
	case "sendPhoto", "editMessageCaption":
		most, text = maxCaption, req.fields["caption"]
	case "editMessageMedia":
		var media struct {
			Type, Media, Caption string
			ParseMode            string `json:"parse_mode"`
		}
		if json.Unmarshal([]byte(req.fields["media"]), &media) != nil || media.Type != "photo" {
			return m, "can't parse InputMedia"
		}
		most, text, mode = maxCaption, media.Caption, media.ParseMode
		req.fields["photo"] = media.Media
		if name, attached := strings.CutPrefix(media.Media, "attach://"); attached {
			if req.files[name] == 0 {
				return m, "wrong file identifier/HTTP URL specified"
			}
			req.files["photo"] = req.files[name]
		}
	default:
		return m, "method not found"
	}
	if refusal := render(&m, text, mode, most); refusal != "" {
		return m, refusal
	}
	if method == "sendPhoto" || method == "editMessageMedia" {
		switch size := req.files["photo"]; {
		case s.BadPictures:
			return m, "IMAGE_PROCESS_FAILED"
		case size > maxPhoto:
			return m, "file is too big"
		case size > 0:
			m.Picture = fmt.Sprint(size, " bytes")
		case strings.HasPrefix(req.fields["photo"], "https://"):
			m.Picture = req.fields["photo"]
		default:
			return m, "there is no photo in the request"
		}
	}
	if strings.HasPrefix(method, "send") {
		m.Sound = req.fields["disable_notification"] != "true"
		var reply struct {
			ID int `json:"message_id"`
		}
		if json.Unmarshal([]byte(req.fields["reply_parameters"]), &reply) == nil && reply.ID > 0 {
			m.ReplyTo = strconv.Itoa(reply.ID)
		}
		return s.Post(m), ""
	}
	return m, s.edit(method, req.fields["message_id"], &m)
}

func (s *Server) edit(method, id string, m *channel.Message) (refusal string) {
	known := s.Edit(id, func(old *channel.Message) {
		switch {
		case method == "editMessageText" && old.Picture != "":
			refusal = "there is no text in the message to edit"
		case method == "editMessageCaption" && old.Picture == "":
			refusal = "there is no caption in the message to edit"
		case method == "editMessageCaption":
			m.Picture = old.Picture
		}
		m.ID, m.Sound, m.ReplyTo, m.Edits = old.ID, old.Sound, old.ReplyTo, old.Edits+1
		if refusal == "" && m.Text == old.Text && m.Picture == old.Picture && fmt.Sprint(m.Links) == fmt.Sprint(old.Links) {
			refusal = "message is not modified: specified new message content and reply markup are exactly the same"
		}
		if refusal == "" {
			*old = *m
		}
	})
	if !known {
		return "message to edit not found"
	}
	return refusal
}

var (
	tag     = regexp.MustCompile(`<(/?)([a-zA-Z-]*)([^<>]*)>`)
	entity  = regexp.MustCompile(`&(lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);`)
	href    = regexp.MustCompile(`^ href="([^"]*)"$`)
	mention = regexp.MustCompile(`(^|\W)@[A-Za-z0-9_]{4,32}`)
	tags    = map[string]bool{"b": true, "i": true, "u": true, "s": true, "a": true, "code": true, "pre": true, "blockquote": true}
)

// render parses the HTML of Telegram, checks the limits, and returns the message as people see it.
func render(m *channel.Message, text, mode string, most int) (refusal string) {
	if mode != "HTML" {
		return "the fake reads HTML only"
	}
	var plain strings.Builder
	var open []string
	link, linkAt := "", 0
	for rest := text; ; {
		at := tag.FindStringSubmatchIndex(rest)
		if at == nil {
			if strings.Contains(rest, "<") {
				return "can't parse entities: unclosed start tag"
			}
			plain.WriteString(unescape(rest))
			break
		}
		before, closing, name, attributes := rest[:at[0]], rest[at[2]:at[3]], rest[at[4]:at[5]], rest[at[6]:at[7]]
		if strings.Contains(before, "<") || !tags[name] {
			return fmt.Sprintf("can't parse entities: unsupported start tag %q", name)
		}
		plain.WriteString(unescape(before))
		if closing == "/" {
			if len(open) == 0 || open[len(open)-1] != name {
				return "can't parse entities: unexpected end tag"
			}
			open = open[:len(open)-1]
			if name == "a" {
				m.Links = append(m.Links, channel.Link{Text: channel.Visible(plain.String()[linkAt:]), URL: link})
			}
		} else {
			open = append(open, name)
			if found := href.FindStringSubmatch(attributes); found != nil {
				link, linkAt = html.UnescapeString(found[1]), plain.Len()
			}
		}
		rest = rest[at[1]:]
	}
	if len(open) > 0 {
		return "can't parse entities: can't find end tag"
	}
	if len(utf16.Encode([]rune(plain.String()))) > most {
		if most == maxCaption {
			return "message caption is too long"
		}
		return "message is too long"
	}
	if plain.Len() == 0 {
		return "message text is empty"
	}
	m.Mentions = len(mention.FindAllString(plain.String(), -1))
	m.Text = strings.TrimSpace(channel.Visible(plain.String()))
	return ""
}

// unescape decodes the entities that Telegram knows.
func unescape(s string) string { return entity.ReplaceAllStringFunc(s, html.UnescapeString) }
