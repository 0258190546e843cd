package notifiertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func everyKind(t *testing.T, f *fixture) {
	for _, language := range []notify.Language{notify.English, notify.Japanese} {
		f.Destination.Language = language
		for _, kind := range []notify.MessageKind{notify.Opened, notify.Worse, notify.Acknowledged, notify.Repeated, notify.Recovered, notify.Reopened, notify.Updated} {
			t.Run(fmt.Sprintf("%s, %s", kind, language), func(t *testing.T) {
				m := example(kind, language)
				if f.Alerts && !m.Push {
					first := example(notify.Opened, language)
					m = after(first, f.mustSend(t, first).Ref, kind, language)
				}
				r := f.mustSend(t, m)
				if f.Edits != (r.Ref != "") {
					t.Errorf("ref %q", r.Ref)
				}
				seen := f.last(t)
				f.requireSeen(t, seen, m)
				requireLinks(t, seen, notifier.Links(m)...)
				if m.Push && !seen.Sound {
					t.Error("it makes no sound")
				}
			})
		}
	}
}

// requireSeen fails the test unless people see a message, or the state that it brings.
func (f *fixture) requireSeen(t *testing.T, seen channel.Message, m message.Message) {
	t.Helper()
	state := "triggered"
	switch {
	case !f.Alerts:
		requireText(t, seen, append(m.Lines, m.Title)...)
		return
	case m.Kind == notify.Updated:
		return
	case m.Kind == notify.Acknowledged:
		state = "acknowledged"
	case m.Kind == notify.Recovered:
		state = "resolved"
	default:
		requireText(t, seen, append(m.Lines, m.Title)...)
	}
	expect.Equal(t, "the alert", seen.State, state)
}

func edits(t *testing.T, f *fixture) {
	first := example(notify.Opened, notify.English)
	opened := f.mustSend(t, first)
	for i, kind := range []notify.MessageKind{notify.Acknowledged, notify.Updated, notify.Recovered} {
		m := after(first, opened.Ref, kind, notify.Japanese)
		m.Lines[0] = fmt.Sprintf("state %d", i)
		for range 2 { // the same again, as after a lost answer, is a success
			if r := f.mustSend(t, m); r.Ref == "" {
				t.Error("the ref is lost")
			}
			must.Equal(t, "messages that people see", len(f.Server.Messages()), 1)
			f.requireSeen(t, f.last(t), m)
		}
	}
}

func pushes(t *testing.T, f *fixture) {
	first := example(notify.Opened, notify.English)
	opened := f.mustSend(t, first)
	m := after(first, opened.Ref, notify.Worse, notify.English)
	m.Title = "🔴 WORSE｜No picture and no sound"
	m.Lines[0] = "Since 20:15:30 JST there is no sound, either."
	r := f.mustSend(t, m)
	if f.Edits && r.Ref != opened.Ref {
		t.Errorf("ref %q, want that of the first message %q", r.Ref, opened.Ref)
	}
	all := f.Server.Messages()
	if !all[len(all)-1].Sound {
		t.Error("the push makes no sound")
	}
	requireText(t, all[len(all)-1], m.Title)
	if f.Edits {
		requireText(t, all[0], m.Title, m.Lines[0])
	}
	want := 2
	if f.Alerts {
		want = 1
	}
	if len(all) != want {
		t.Errorf("people see %d messages, want %d: %v", len(all), want, all)
	}
}

func postsAgain(t *testing.T, f *fixture) {
	first := example(notify.Opened, notify.English)
	opened := f.mustSend(t, first)
	f.Server.Delete(f.last(t).ID)
	m := after(first, opened.Ref, notify.Recovered, notify.English)
	if r := f.mustSend(t, m); r.Ref == "" {
		t.Error("the ref is lost")
	}
	requireText(t, f.last(t), m.Title)
}

func postsWhatCannotBeEdited(t *testing.T, f *fixture) {
	first := example(notify.Opened, notify.English)
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound} {
		opened := f.mustSend(t, first)
		f.Server.Fail(channel.Fault{Status: status, Fails: 1}) // such as that of an archived thread
		m := after(first, opened.Ref, notify.Recovered, notify.English)
		m.Title = fmt.Sprintf("✅ RESOLVED after status %d", status)
		if r := f.mustSend(t, m); r.Ref == "" {
			t.Error("the ref is lost")
		}
		requireText(t, f.last(t), m.Title)
	}
	opened := f.mustSend(t, first)
	f.Server.Fail(channel.Fault{Status: http.StatusServiceUnavailable, Fails: 1}) // may pass
	if r := f.send(t.Context(), t, after(first, opened.Ref, notify.Recovered, notify.English)); r.Class != notify.Retry {
		t.Errorf("a failure that may pass was not one: %+v", r)
	}
}

func showsPicture(t *testing.T, f *fixture) {
	m := example(notify.Opened, notify.English)
	m.Picture = picture()
	want := m.Picture.URL
	if f.Picture == ByBytes {
		want = fmt.Sprint(len(m.Picture.Bytes), " bytes")
	}
	opened := f.mustSend(t, m)
	expect.Equal(t, "the picture", f.last(t).Picture, want)
	requireText(t, f.last(t), m.Title, m.Lines[0])
	if !f.Edits || f.Alerts {
		return
	}
	t.Run("and may be missing later", func(t *testing.T) {
		f.mustSend(t, after(m, opened.Ref, notify.Acknowledged, notify.English))
	})
	t.Run("and may come later", func(t *testing.T) {
		m := example(notify.Opened, notify.English)
		first := f.mustSend(t, m)
		m = after(m, first.Ref, notify.Updated, notify.English)
		m.Picture = picture()
		updated := f.mustSend(t, m)
		expect.Equal(t, "the picture", f.last(t).Picture, want)
		m = after(m, updated.Ref, notify.Recovered, notify.English)
		f.mustSend(t, m)
		requireText(t, f.last(t), m.Title)
	})
}

func wrongCredentials(t *testing.T, f *fixture) {
	f.WrongCredentials(&f.Destination)
	r := f.send(t.Context(), t, example(notify.Opened, notify.English))
	if r.Class != notify.Retry {
		t.Errorf("class %q, want %q: a person may repair it. %s", r.Class, notify.Retry, r.Error)
	}
	if r.Status == 0 || len(f.Server.Messages()) > 0 {
		t.Errorf("status %d, and people see %v", r.Status, f.Server.Messages())
	}
}

func wrongAddress(t *testing.T, f *fixture) {
	f.WrongAddress(&f.Destination)
	r := f.send(t.Context(), t, example(notify.Opened, notify.English))
	if r.Class != notify.Retry || !strings.Contains(r.Error, f.AddressError) || len(f.Server.Messages()) > 0 {
		t.Errorf("%+v, and people see %v", r, f.Server.Messages())
	}
}

func rateLimited(t *testing.T, f *fixture) {
	f.Server.Fail(channel.Fault{Status: http.StatusTooManyRequests, After: 7 * time.Second})
	r := f.send(t.Context(), t, example(notify.Opened, notify.English))
	if r.Class != notify.Retry || !f.NoHTTP && r.RetryAfter != 7*time.Second {
		t.Errorf("class %q, retry after %v", r.Class, r.RetryAfter)
	}
	f.Server.Recover()
	f.mustSend(t, example(notify.Opened, notify.English))
}

func fails(t *testing.T, f *fixture) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable} {
		f.Server.Fail(channel.Fault{Status: status})
		if r := f.send(t.Context(), t, example(notify.Opened, notify.English)); r.Class != notify.Retry || r.Status == 0 {
			t.Errorf("%d: %+v", status, r)
		}
	}
	if n := len(f.Server.Messages()); n > 0 {
		t.Errorf("people see %d messages", n)
	}
}

func rejects(t *testing.T, f *fixture) {
	f.Server.Fail(channel.Fault{Status: http.StatusBadRequest})
	m := example(notify.Opened, notify.English)
	if r := f.send(t.Context(), t, m); r.Class != notify.Rejected || f.Server.Requests() != 1 {
		t.Errorf("%+v after %d requests", r, f.Server.Requests())
	}
	if f.Picture == NoPicture {
		return
	}
	// It may be the picture that is rejected.
	before := f.Server.Requests()
	m.Picture = picture()
	if r := f.send(t.Context(), t, m); r.Class != notify.Rejected || f.Server.Requests() != before+2 {
		t.Errorf("%+v after %d requests, want one more without the picture", r, f.Server.Requests()-before)
	}
}

func isGone(t *testing.T, f *fixture) {
	f.Server.Fail(channel.Fault{Status: http.StatusGone})
	if r := f.send(t.Context(), t, example(notify.Opened, notify.English)); r.Class != notify.Gone {
		t.Errorf("%+v", r)
	}
}

func hangs(t *testing.T, f *fixture) {
	f.Server.Fail(channel.Fault{Hang: true})
	short := newFixture(t, f.Harness, shortTimeout)
	began := time.Now()
	r := short.send(t.Context(), t, example(notify.Opened, notify.English))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if r.Class != notify.Retry || !strings.Contains(r.Error, "no answer within 300ms") {
		t.Errorf("%+v", r)
	}
}

func cancelled(t *testing.T, f *fixture) {
	f.Server.Fail(channel.Fault{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(shortTimeout, cancel)
	began := time.Now()
	if r := f.send(ctx, t, example(notify.Opened, notify.English)); r.Class != notify.Retry || !strings.Contains(r.Error, "cancelled") {
		t.Errorf("%+v", r)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if r := f.send(ctx, t, example(notify.Opened, notify.English)); r.Class != notify.Retry {
		t.Errorf("%+v", r)
	}
}

func redirects(t *testing.T, f *fixture) {
	followed := make(chan struct{}, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed <- struct{}{} }))
	t.Cleanup(elsewhere.Close)
	f.Server.Fail(channel.Fault{Redirect: elsewhere.URL + "/?token=geheim"})
	r := f.send(t.Context(), t, example(notify.Opened, notify.English))
	if r.Class != notify.Retry || !strings.Contains(r.Error, "redirects are not followed") || len(followed) > 0 {
		t.Errorf("%+v, %d requests arrived elsewhere", r, len(followed))
	}
}

func refusesPrivate(t *testing.T, f *fixture) {
	f.sender = newSender(t, f.New, notifier.Config{})
	r := f.send(t.Context(), t, example(notify.Opened, notify.English))
	if r.Class != notify.Retry || !strings.Contains(r.Error, "refused") || strings.Contains(r.Error, "127.0.0.1") {
		t.Errorf("%+v", r)
	}
	if n := f.Server.Requests(); n > 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func hostile(t *testing.T, f *fixture) {
	m := example(notify.Opened, notify.English)
	m.Title = "<!channel> *T* @everyone </b> _t_ & \"x\" [t](https://evil.example)\r\nBcc: x"
	m.Lines = []string{hostileText, "a\r\nb\x00c \u202egnp.exe"}
	m.Stream.Text = "*s* <b> & | [x](https://e.vil) </a>" // short enough for every label
	m.Picture = picture()
	m.Picture.Alt = hostileText
	opened := f.mustSend(t, m)
	check := func() {
		t.Helper()
		for i, seen := range f.Server.Messages() {
			requireText(t, seen, plaintext.Clean(m.Title))
			if i == 0 { // those after it are pushes
				requireText(t, seen, hostileText, "a b c gnp.exe")
				if !slices.ContainsFunc(seen.Links, func(l channel.Link) bool { return l.Text == m.Stream.Text }) {
					requireText(t, seen, m.Stream.Text)
				}
			}
			if seen.Mentions > 0 {
				t.Errorf("it mentions %d people: %s", seen.Mentions, seen)
			}
			for _, l := range seen.Links {
				ours := slices.ContainsFunc(notifier.Links(m), func(want message.Link) bool { return want.URL == l.URL })
				if !ours && l.URL != l.Text {
					t.Errorf("the link %q leads to %s", l.Text, l.URL)
				}
			}
		}
	}
	check()
	if f.Edits {
		m.ID, m.Ref, m.Kind = newID(), opened.Ref, notify.Worse
		f.mustSend(t, m)
		check()
	}
}

func oversized(t *testing.T, f *fixture) {
	for name, text := range map[string]string{
		"of ASCII":                "abcdefghi ",
		"of Japanese":             "映像が真っ黒",
		"of emoji":                "😀👨\u200d👩\u200d👧🇯🇵",
		"of what must be escaped": `<&>*_\"`,
	} {
		t.Run(name, func(t *testing.T) {
			m := example(notify.Opened, notify.English)
			m.Title = strings.Repeat(text, 400)
			m.Lines = []string{strings.Repeat(text, 3000), strings.Repeat(text, 9000)}
			m.Stream.Text = strings.Repeat(text, 500)
			m.Picture = picture()
			m.Picture.Alt = strings.Repeat(text, 2000)
			r := f.mustSend(t, m)
			seen := f.last(t)
			if !utf8.ValidString(seen.Text) || strings.ContainsRune(seen.Text, utf8.RuneError) {
				t.Error("a character is cut in two")
			}
			if n := utf8.RuneCountInString(seen.Text); n < f.Reads {
				t.Errorf("people see %d characters, want %d at least", n, f.Reads)
			}
			expect.Text(t, "the text", seen.Text, "…")
			requireLinks(t, seen, m.Link, m.Actions[0])
			if f.Picture != NoPicture && seen.Picture == "" {
				t.Error("the picture is lost")
			}
			if f.Edits {
				m.ID, m.Ref, m.Kind = newID(), r.Ref, notify.Worse
				f.mustSend(t, m)
			}
		})
	}
}

func bare(t *testing.T, f *fixture) {
	m := example(notify.Opened, notify.English)
	m.Lines, m.Actions = nil, nil
	m.Link, m.Stream = message.Link{}, message.Link{}
	r := f.mustSend(t, m)
	requireText(t, f.last(t), m.Title)
	m.ID, m.Ref, m.Kind = newID(), r.Ref, notify.Worse
	f.mustSend(t, m)

	m = example(notify.Opened, notify.English)
	m.Title, m.Lines = " ", nil
	f.mustSend(t, m)
}

func requireText(t *testing.T, seen channel.Message, wanted ...string) {
	t.Helper()
	expect.Text(t, "the text", seen.Text, wanted...)
}

func requireLinks(t *testing.T, seen channel.Message, wanted ...message.Link) {
	t.Helper()
	for _, want := range wanted {
		if !slices.ContainsFunc(seen.Links, func(l channel.Link) bool { return l.URL == want.URL }) {
			t.Errorf("nothing leads to %s in\n%s", want.URL, seen)
		}
	}
}
