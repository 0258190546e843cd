//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// acknowledgeByLink opens the link of a message, as a preview does, and then uses it.
func acknowledgeByLink(ctx context.Context, env *environment, o operation) error {
	const by = "Bob with a link"
	link, incident, err := env.waitForLink(ctx, "Acknowledge", true)
	if err != nil {
		return err
	}
	mine, err := env.useLink(ctx, link, by)
	if err == nil && mine {
		env.recordAcknowledgement(incident, by)
	}
	return err
}

// waitForLink waits for a message with a link of this text and returns the link, and the ID of
// the incident that the message is about; empty: of a storm, if ofStorm allows that.
func (env *environment) waitForLink(ctx context.Context, text string, ofStorm bool) (link, incident string, err error) {
	err = retry(ctx, func(context.Context) error {
		for _, c := range env.channels {
			for _, m := range slices.Backward(c.fake.Messages()) {
				incident = incidentOf(m)
				n := slices.IndexFunc(m.Links, func(l channel.Link) bool { return l.Text == text })
				if n >= 0 && (incident != "" || ofStorm) && !isResolved(m) {
					link = m.Links[n].URL
					return nil
				}
			}
		}
		return fmt.Errorf("no message has the link %q", text)
	})
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", errNoTarget, err)
	}
	return link, incident, nil
}

// incidentOf returns the ID of the incident that a message is about; empty: it is about none.
func incidentOf(m channel.Message) string {
	for _, l := range m.Links {
		if id, is := strings.CutPrefix(l.URL, publicURL+"/incidents/"); is {
			return id
		}
	}
	return ""
}

// useLink gets the page of a link and posts its form. mine is false if somebody else has used the
// link before, or has acknowledged the incident in another way.
func (env *environment) useLink(ctx context.Context, link, by string) (mine bool, err error) {
	path := strings.TrimPrefix(link, publicURL)
	answerLost := false
	err = retry(ctx, func(ctx context.Context) error {
		service := env.service()
		if service == nil {
			return errNoGateway
		}
		for _, form := range []url.Values{nil, {"by": {by}}} {
			status, err := requestPage(ctx, service.URL()+path, form)
			if err != nil {
				answerLost = answerLost || form != nil
				return err
			}
			mine = status == http.StatusOK || answerLost && status == http.StatusConflict
			if status != http.StatusOK && (form == nil || status != http.StatusConflict) {
				return fmt.Errorf("the page of a link is answered with %d", status)
			}
		}
		return nil
	})
	return mine, err
}

// requestPage gets a page, or posts a form to it.
func requestPage(ctx context.Context, to string, form url.Values) (status int, err error) {
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := pages.Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// pages requests pages, never through the proxy that the environment names.
var pages = &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}

// silenceByLink uses the link of a message that silences its monitor for an hour. The silence is
// ended by the API.
func silenceByLink(ctx context.Context, env *environment, o operation) error {
	const by = "Cleo with a link"
	link, incident, err := env.waitForLink(ctx, "Silence 1 h", false)
	if err != nil {
		return err
	}
	if mine, err := env.useLink(ctx, link, by); err != nil || !mine {
		return cmp.Or(err, fmt.Errorf("%w: the silence of the link is over", errNoTarget))
	}
	id, to := "", time.Time{}
	q := quietTime{}
	if err := retry(ctx, func(ctx context.Context) (err error) {
		if id, err = env.findSilence(ctx, "by", by); err != nil || id == "" {
			return errors.Join(err, errors.New("no silence is of the link"))
		}
		silence, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/silences/"+id, nil, http.StatusOK)
		if err != nil {
			return err
		}
		to, _ = time.Parse(time.RFC3339Nano, fmt.Sprint(silence["to"]))
		about, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/incidents/"+incident, nil, http.StatusOK)
		q.monitor, _ = about["monitor_id"].(string)
		return err
	}); err != nil {
		return err
	}
	if time.Until(to) < o.duration+time.Minute {
		return fmt.Errorf("%w: the silence of the link ends at %s, by a clock that is off", errNoTarget, to)
	}
	return env.keepQuiet(ctx, o, q, func(ctx context.Context) error { return env.endSilence(ctx, id) })
}
