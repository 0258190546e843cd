package httpapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// actionPage is the page of a link in a message, in one language. Its texts are written by
// the gateway, by strangers, or by whoever opens it: the template escapes all of them.
type actionPage struct {
	Language notify.Language
	Title    string
	Lines    []string
	Button   string // empty: there is no form
	Name     string // label of the field for the name
	By       string // what was written into it
}

const actionStyle = `:root{color-scheme:light dark}
body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.4rem;line-height:1.3}
label,input,button{display:block;font:inherit;width:100%;box-sizing:border-box}
input,button{padding:.6rem .8rem;margin:.3rem 0 1rem;border:1px solid #767676;border-radius:.4rem}
button{background:#0b5cad;border-color:#0b5cad;color:#fff;cursor:pointer}`

var actionTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="{{.Language}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<title>{{.Title}}</title>
<style>` + actionStyle + `</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
{{range .Lines}}<p>{{.}}</p>
{{end}}{{if .Button}}<form method="post">
<label for="by">{{.Name}}</label>
<input id="by" name="by" value="{{.By}}" required maxlength="100" autocomplete="name">
<button>{{.Button}}</button>
</form>
{{end}}</main>
</body>
</html>
`))

// actionPolicy allows the style of the page and its form, and nothing else.
var actionPolicy = func() string {
	digest := sha256.Sum256([]byte(actionStyle))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		base64.StdEncoding.EncodeToString(digest[:]))
}()

// write answers a request with the page.
func (p actionPage) write(c *gin.Context, status int) error {
	var b bytes.Buffer
	if err := actionTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("write the page of a link: %w", err)
	}
	c.Header("Content-Security-Policy", actionPolicy)
	c.Header("Referrer-Policy", "no-referrer") // the URL is a permission
	c.Header("X-Robots-Tag", "noindex")
	c.Data(status, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// page returns the page that asks. It has no form if there is nothing to do.
func (a *action) page() actionPage {
	w, i := a.words, a.incident
	if a.storm != nil {
		return a.stormPage()
	}
	var names []string
	for _, condition := range i.Conditions {
		d, _ := detector.Of(condition.Name)
		names = append(names, cmp.Or(w.conditions[condition.Name], d.Words.In(string(a.language)).Title, string(condition.Name)))
	}
	title, button := w.acknowledge, w.acknowledgeButton
	if a.Action == notify.SilenceAnHour {
		title, button = w.silence, w.silenceButton
	}
	page := actionPage{
		Language: a.language, Title: fmt.Sprintf(title, strings.Join(names, w.and)), Name: w.name, Button: button,
		Lines: []string{fmt.Sprintf(w.stream, a.stream), fmt.Sprintf(w.since, a.time(i.StartedAt))},
	}
	if i.State == incident.Resolved {
		page.Lines = append(page.Lines, fmt.Sprintf(w.resolved, a.time(i.ResolvedAt)))
		if a.Action == notify.Acknowledge {
			page.Button = ""
		}
	}
	return page
}

func (a *action) stormPage() actionPage {
	w, s := a.words, a.situation
	if s.Streams == 0 {
		return actionPage{Language: a.language, Title: w.notNotified, Lines: []string{w.dashboard}}
	}
	page := actionPage{
		Language: a.language, Title: fmt.Sprintf(w.acknowledge, fmt.Sprintf(w.streams, s.Streams)), Name: w.name, Button: w.acknowledgeButton,
		Lines: []string{fmt.Sprintf(w.since, a.time(s.OpenedAt))},
	}
	if !s.Open {
		page.Button = ""
		page.Lines = append(page.Lines, fmt.Sprintf(w.resolved, a.time(s.ResolvedAt)))
	}
	return page
}

// silencedPage says what a link has silenced. by is who acts now; empty: nobody does.
func (a *action) silencedPage(s routing.SilenceWithState, by string) actionPage {
	page := a.page()
	page.Button = ""
	until := a.time(s.EndsAt)
	switch {
	case s.State == notify.SilenceEnded:
		page.Title = a.words.silenceOver
	case s.CreatedBy == by:
		page.Title = fmt.Sprintf(a.words.silenced, until)
	default:
		page.Title = fmt.Sprintf(a.words.silencedBy, s.CreatedBy, until)
	}
	return page
}

// time shows a time, in the same way in all languages.
func (a *action) time(t time.Time) string { return t.In(a.zone).Format("2006-01-02 15:04:05 MST") }

// actionWords are the texts of the page in one language. The comments name the arguments of
// those with %.
type actionWords struct {
	acknowledge       string // the conditions, or streams
	acknowledgeButton string
	acknowledged      string // who
	acknowledgedBy    string // who
	reopened          string
	silence           string // the conditions
	silenceButton     string
	silenced          string // until when
	silencedBy        string // who, until when
	silenceOver       string
	notNotified       string

	stream, streams, since, resolved, dashboard, name, wrongName           string
	wrong, refused, noRoom, unread, invalid, expired, gone, failed, repeat string

	conditions map[incident.Name]string // but those of detectors, which have their words
	and        string                   // between two conditions
}

var actionTexts = map[notify.Language]actionWords{
	notify.English: {
		acknowledge: "Acknowledge: %s", acknowledgeButton: "Acknowledge", acknowledged: "Acknowledged by %s", acknowledgedBy: "%s has acknowledged it already",
		reopened: "This link has been used, and the trouble has come back. Open the newest message",
		silence:  "Silence this stream for an hour: %s", silenceButton: "Silence for an hour", silenced: "Silenced until %s", silencedBy: "%s has silenced it already, until %s",
		silenceOver: "This link has been used. The silence is over",
		notNotified: "No stream of this message is sent here any more",
		stream:      "Stream: %s", streams: "%d streams", since: "Since %s", resolved: "Resolved at %s. There is nothing to do.", dashboard: "Open the incidents on the dashboard.",
		name: "Your name", wrongName: "Write your name: 1 to 100 characters.",
		wrong: "This did not work", refused: "The incident cannot take this up. Open it on the dashboard.", unread: "The form did not arrive whole. Open the link again.",
		noRoom: "There is no room for another silence. Silence the stream on the dashboard, where others can be ended.", invalid: "The link is not whole, or its key is no longer used. Open the incident on the dashboard.",
		expired: "The link has expired. Open the incident on the dashboard.", gone: "The incident is no longer stored.",
		failed: "The service failed. Its log says why.", repeat: "The service did not answer in time. Try again in a moment.",
		and: " + ",
		conditions: map[incident.Name]string{
			incident.Late: "Late start", incident.NoMedia: "No media", incident.Blind: "Cannot be seen", incident.Error: "Monitor failed",
		},
	},
	notify.Japanese: {
		acknowledge: "対応する: %s", acknowledgeButton: "対応する", acknowledged: "%s さんが対応中です", acknowledgedBy: "すでに %s さんが対応中です",
		reopened: "このリンクは使用済みで、障害が再発しています。最新のメッセージを開いてください",
		silence:  "この配信を1時間ミュート: %s", silenceButton: "1時間ミュート", silenced: "%s までミュートしました", silencedBy: "すでに %s さんが %s までミュートしています",
		silenceOver: "このリンクは使用済みです。ミュートは解除されています",
		notNotified: "このメッセージの配信は、もうここには通知されません",
		stream:      "配信: %s", streams: "%d配信", since: "%s から", resolved: "%s に復旧しました。対応は不要です。", dashboard: "ダッシュボードで障害を開いてください。",
		name: "お名前", wrongName: "お名前を1〜100文字で入力してください。",
		wrong: "処理できませんでした", refused: "この操作は受け付けられません。ダッシュボードで障害を開いてください。", unread: "フォームを最後まで受け取れませんでした。リンクをもう一度開いてください。",
		noRoom: "ミュートをこれ以上追加できません。ダッシュボードで他のミュートを解除してから、この配信をミュートしてください。", invalid: "リンクが途中で切れているか、鍵が使われなくなりました。ダッシュボードで障害を開いてください。",
		expired: "リンクの有効期限が切れました。ダッシュボードで障害を開いてください。", gone: "この障害の記録は残っていません。",
		failed: "サービスでエラーが起きました。原因はログにあります。", repeat: "時間内に応答できませんでした。少し待ってからもう一度お試しください。",
		and: "＋",
		conditions: map[incident.Name]string{
			incident.Late: "開始遅延", incident.NoMedia: "データ途絶", incident.Blind: "確認できません", incident.Error: "監視が失敗",
		},
	},
}

// statusWords returns the text for the status of a refusal.
func (w actionWords) statusWords(status int) string {
	switch status {
	case http.StatusBadRequest:
		return w.refused
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return w.unread
	case http.StatusForbidden:
		return w.invalid
	case http.StatusGone:
		return w.expired
	case http.StatusNotFound:
		return w.gone
	case http.StatusServiceUnavailable:
		return w.repeat
	}
	return w.failed
}
