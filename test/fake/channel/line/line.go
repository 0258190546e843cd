// Package line fakes the Messaging API of LINE.
package line

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// Credentials and receiver that the fake accepts.
const (
	Token = "geheim+lineChannelAccessToken/0123456789="
	Group = "C0123456789abcdef0123456789abcdef"
)

// Limits of LINE.
const (
	maxObjects, maxText, maxURL               = 5, 5000, 2000
	maxAlt, maxBubble, maxLabel, maxActionURL = 400, 30 << 10, 40, 1000
)

// Server fakes LINE.
type Server struct {
	*channel.Server

	NoFlex bool // it rejects Flex Messages
	NoMore bool // the messages of the month are used up
	Quota  int  // messages of a month; 0: unlimited

	mu       sync.Mutex
	accepted map[string]bool // retry keys
}

// New starts a server. Close ends it.
func New() *Server {
	s := &Server{accepted: map[string]bool{}}
	s.Server = channel.NewServer(map[string]channel.Handler{
		"POST /v2/bot/message/push":             authorized(s.push),
		"GET /v2/bot/message/quota":             authorized(s.quota),
		"GET /v2/bot/message/quota/consumption": authorized(s.consumption),
	}, refuse)
	return s
}

type detail struct {
	Message  string `json:"message"`
	Property string `json:"property"`
}

func answer(status int, text string, details ...detail) channel.Answer {
	v := map[string]any{"message": text}
	if len(details) > 0 {
		v["details"] = details
	}
	return channel.Answer{Status: status, Body: v}
}

func refuse(status int, after time.Duration) channel.Answer {
	texts := map[int]string{400: "The request body has 1 error(s)", 429: "The API rate limit has been exceeded. Try again later."}
	a := answer(status, cmp.Or(texts[status], http.StatusText(status)))
	a.After = after
	return a
}

type object struct {
	Type, Text string
	AltText    string
	Contents   json.RawMessage
	Original   string `json:"originalContentUrl"`
	Preview    string `json:"previewImageUrl"`
}

var (
	keyPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	urlPattern = regexp.MustCompile(`https?://\S+`)
)

// authorized answers requests without the token.
func authorized(h channel.Handler) channel.Handler {
	return func(r *http.Request) channel.Answer {
		if r.Header.Get("Authorization") != "Bearer "+Token {
			return answer(http.StatusUnauthorized, "Authentication failed. Confirm that the access token in the authorization header is valid.")
		}
		return h(r)
	}
}

func (s *Server) quota(*http.Request) channel.Answer {
	if s.Quota == 0 {
		return channel.OK(map[string]any{"type": "none"})
	}
	return channel.OK(map[string]any{"type": "limited", "value": s.Quota})
}

func (s *Server) consumption(*http.Request) channel.Answer {
	return channel.OK(map[string]any{"totalUsage": len(s.Messages())})
}

func (s *Server) push(r *http.Request) channel.Answer {
	var req struct {
		To                   string
		Messages             []object
		NotificationDisabled bool
	}
	key := r.Header.Get("X-Line-Retry-Key")
	switch {
	case !keyPattern.MatchString(key):
		return answer(http.StatusBadRequest, "The retry key is invalid")
	case json.NewDecoder(r.Body).Decode(&req) != nil:
		return answer(http.StatusBadRequest, "The request body could not be parsed as JSON")
	case req.To != Group:
		return answer(http.StatusBadRequest, "The property, 'to', in the request body is invalid (line: -, column: -)")
	case s.NoMore:
		return answer(http.StatusTooManyRequests, "You have reached your monthly limit.")
	}
	m := channel.Message{Sound: !req.NotificationDisabled}
	if len(req.Messages) > 0 && req.Messages[0].Type == "flex" && (s.NoFlex || !renderFlex(&m, req.Messages[0])) {
		return answer(http.StatusBadRequest, "A message (messages[0]) in the request body is invalid", detail{"invalid property", "/body/contents/0"})
	}
	if details := render(&m, req.Messages); len(details) > 0 {
		return answer(http.StatusBadRequest, "The request body has 1 error(s)", details...)
	}
	s.mu.Lock()
	known := s.accepted[key]
	s.accepted[key] = true
	s.mu.Unlock()
	if known {
		return answer(http.StatusConflict, "The retry key is already accepted")
	}
	s.Post(m)
	return channel.OK(map[string]any{"sentMessages": []map[string]any{{"id": "461230966842064897"}}})
}

// render returns what is wrong with the objects of a message.
func render(m *channel.Message, objects []object) []detail {
	if len(objects) == 0 || len(objects) > maxObjects {
		return []detail{{"Size must be between 1 and 5", "messages"}}
	}
	for _, o := range objects {
		switch o.Type {
		case "flex":
		case "text":
			if n := units(o.Text); n == 0 || n > maxText {
				return []detail{{"Length must be between 1 and 5000", "messages[0].text"}}
			}
			m.Text += o.Text
			for _, u := range urlPattern.FindAllString(o.Text, -1) {
				m.Links = append(m.Links, channel.Link{Text: u, URL: u})
			}
		case "image":
			for _, u := range []string{o.Original, o.Preview} {
				if !strings.HasPrefix(u, "https://") || len(u) > maxURL {
					return []detail{{"invalid uri scheme", "messages[1].originalContentUrl"}}
				}
			}
			m.Picture = o.Original
		default:
			return []detail{{"Must be one of the following values: [text, image, flex]", "messages[0].type"}}
		}
	}
	return nil
}

type component struct {
	Type     string
	Layout   string
	Text     string
	Contents []component
	Action   *struct{ Type, Label, URI string }
}

// renderFlex adds what people see of a Flex Message. It reports whether LINE takes it.
func renderFlex(m *channel.Message, o object) (valid bool) {
	var bubble struct {
		Type         string
		Body, Footer *component
	}
	if n := units(o.AltText); n == 0 || n > maxAlt || len(o.Contents) > maxBubble || json.Unmarshal(o.Contents, &bubble) != nil || bubble.Type != "bubble" {
		return false
	}
	for _, block := range []*component{bubble.Body, bubble.Footer} {
		if block == nil {
			continue
		}
		if block.Type != "box" || block.Layout == "" || len(block.Contents) == 0 {
			return false
		}
		for _, c := range block.Contents {
			a := c.Action
			if a != nil && (a.Type != "uri" || units(a.Label) == 0 || units(a.Label) > maxLabel || !urlPattern.MatchString(a.URI) || len(a.URI) > maxActionURL) {
				return false
			}
			switch {
			case c.Type == "text" && c.Text != "" && a == nil:
				m.Text += c.Text + "\n"
			case c.Type == "text" && c.Text != "":
				m.Links = append(m.Links, channel.Link{Text: c.Text, URL: a.URI})
			case c.Type == "button" && a != nil:
				m.Links = append(m.Links, channel.Link{Text: a.Label, URL: a.URI})
			default:
				return false
			}
		}
	}
	return true
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }
