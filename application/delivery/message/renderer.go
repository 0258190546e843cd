package message

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

//go:embed templates/*.tmpl
var builtIn embed.FS

// maxLines and maxLine limit what templates make of a message.
const (
	maxLines = 20
	maxLine  = 1000 // characters
	maxLink  = 60   // characters of a link's text
)

// Config configures a Renderer; the zero value is usable.
type Config struct {
	// Files are those of TEMPLATES_DIR: en.tmpl and ja.tmpl define templates of the built-in
	// files again. Default: the built-in ones are used.
	Files fs.FS

	PublicURL string            // PUBLIC_URL; empty: messages have no links but those to streams
	Keys      evidence.LinkKeys // sign the links of actions; none: messages have no such links
	Zone      *time.Location    // of the times, default time.Local
	Log       *slog.Logger      // default: nothing is logged
}

// Renderer makes messages. It may be used concurrently.
type Renderer struct {
	cfg       Config
	log       *slog.Logger
	templates map[notify.Language]*template.Template
	builtIn   map[notify.Language]*template.Template
}

// Load reads the templates and executes each with examples of all messages. It reads the
// Config.Files once. An error names the file, the line, and what to do.
func Load(cfg Config) (*Renderer, error) {
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := checkNames(cfg.Files); err != nil {
		return nil, err
	}
	r := &Renderer{cfg: cfg, log: cfg.Log.With("component", "messages"), templates: map[notify.Language]*template.Template{}, builtIn: map[notify.Language]*template.Template{}}
	for language, u := range unitsOf {
		text, err := builtIn.ReadFile("templates/" + fileOf(language))
		if err != nil {
			return nil, fmt.Errorf("read the built-in messages: %w", err)
		}
		// A name of its own keeps an error of a built-in template from looking like one
		// of the file in TEMPLATES_DIR.
		t, err := template.New("built-in " + fileOf(language)).Funcs(u.functions(time.Time{})).Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("parse the built-in messages: %w", err)
		}
		r.builtIn[language] = t
		if r.templates[language], err = replaced(t, cfg.Files, fileOf(language)); err != nil {
			return nil, templateError(err)
		}
	}
	return r, r.check()
}

func fileOf(l notify.Language) string { return string(l) + ".tmpl" }

// checkNames refuses a directory that cannot be read, and a file in it that would replace
// nothing.
func checkNames(files fs.FS) error {
	if files == nil {
		return nil
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return fmt.Errorf("TEMPLATES_DIR cannot be read: %w; correct the path, or leave it empty for the built-in messages", err)
	}
	for _, e := range entries {
		language, isTemplate := strings.CutSuffix(e.Name(), ".tmpl")
		if _, known := unitsOf[notify.Language(language)]; isTemplate && !known {
			return fmt.Errorf("TEMPLATES_DIR: %s replaces nothing; accepted are en.tmpl and ja.tmpl: rename the file, or remove it", e.Name())
		}
	}
	return nil
}

// replaced returns the templates with those of a file over them.
func replaced(t *template.Template, files fs.FS, name string) (*template.Template, error) {
	t, err := t.Clone()
	if err != nil || files == nil {
		return t, err
	}
	text, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		_, err = t.New(name).Parse(string(text))
	}
	return t, err
}

func templateError(err error) error {
	return fmt.Errorf("TEMPLATES_DIR: %w; correct the template, or remove it from the file to use the built-in one", err)
}

// check executes all templates with all examples.
func (r *Renderer) check() error {
	for _, language := range languages() {
		for _, e := range examples(time.Now()) {
			e.Facts.Language = language
			v := newView(e.Facts, e.Step, r.cfg.Zone)
			if _, err := r.texts(r.templates[language], v, e.Facts); err != nil {
				return templateError(fmt.Errorf("%s: %w", e.Name, err))
			}
		}
	}
	return nil
}

func languages() []notify.Language { return []notify.Language{notify.English, notify.Japanese} }

// texts are what the templates make of a message.
type texts struct {
	title                                           string
	lines                                           []string
	stream, incident, acknowledge, silence, picture string
}

func (r *Renderer) texts(t *template.Template, v view, f Facts) (w texts, err error) {
	t, err = t.Clone()
	if err != nil {
		return w, err
	}
	t.Funcs(unitsOf[f.Language].functions(f.Now.In(r.cfg.Zone)))
	execute := func(name string) string {
		var b bytes.Buffer
		if failed := t.ExecuteTemplate(&b, name, v); failed != nil && err == nil {
			err = failed
		}
		return b.String()
	}
	w = texts{
		title:  clean(execute("title"), maxTitle),
		stream: clean(execute("stream link"), maxStream), incident: clean(execute("incident link"), maxLink), acknowledge: clean(execute("acknowledge link"), maxLink),
		silence: clean(execute("silence link"), maxLink), picture: clean(execute("picture"), maxDetail),
	}
	for line := range strings.Lines(execute("lines")) {
		if line = clean(line, maxLine); line != "" {
			w.lines = append(w.lines, line)
		}
	}
	w.lines = w.lines[:min(len(w.lines), maxLines)]
	switch {
	case err != nil:
		return w, err
	case w.title == "" || w.stream == "" || w.incident == "" || w.acknowledge == "" || w.silence == "":
		return w, errors.New("the template of the title or of a link writes nothing")
	case len(w.lines) == 0:
		return w, errors.New(`the template "lines" writes nothing`)
	}
	return w, nil
}

// Message makes the message of a step. If a template of TEMPLATES_DIR fails, Message uses
// the built-in ones and logs a warning.
func (r *Renderer) Message(f Facts, step notify.NextMessage) Message {
	if !slices.Contains(languages(), f.Language) {
		f.Language = notify.English
	}
	v := newView(f, step, r.cfg.Zone)
	w, err := r.texts(r.templates[f.Language], v, f)
	if err != nil {
		r.log.Warn("a template of TEMPLATES_DIR failed, the message is written with the built-in one: correct the template and restart the gateway", "error", err.Error())
		w, _ = r.texts(r.builtIn[f.Language], v, f)
	}
	m := Message{
		ID: f.ID, ThreadID: f.ThreadID, Kind: step.Kind, Test: f.Test, Push: step.Push, Ref: f.Notified.ProviderMessageID,
		Language: f.Language, Open: v.Open, Severity: v.Severity, Title: w.title, Lines: w.lines, At: f.Now,
	}
	switch {
	case f.Incident != nil:
		m.Stream = Link{Text: w.stream, URL: f.Incident.StreamURL.Page()}
	case f.Notice != nil && f.Notice.Hint != nil:
		m.Stream = Link{Text: w.stream, URL: f.Notice.Hint.StreamURL.Page()}
	case f.Notice != nil && f.Notice.Channel != nil && len(f.Notice.Channel.Channels) == 1 && f.Notice.Channel.Channels[0].StreamURL != "":
		m.Stream = Link{Text: w.stream, URL: f.Notice.Channel.Channels[0].StreamURL.Page()}
	}
	if f.Picture != nil {
		shown := *f.Picture
		shown.Alt = w.picture
		if shown.RenditionHeight > 0 {
			shown.Alt += fmt.Sprintf(" · %dp", shown.RenditionHeight)
		}
		m.Picture = &shown
	}
	r.addLinks(&m, f, w)
	return m
}

// Shortest makes the message of a step with the built-in title and nothing else. It is for the
// end of an incident whose Message a channel rejects.
func (r *Renderer) Shortest(f Facts, step notify.NextMessage) Message {
	r = &Renderer{cfg: Config{Zone: r.cfg.Zone}, log: r.log, templates: r.builtIn, builtIn: r.builtIn}
	f.Picture = nil
	m := r.Message(f, step)
	m.Lines, m.Stream = nil, Link{}
	return m
}

// addLinks adds the links to the dashboard and, for what is open, those of actions. An
// example has none, because there is nothing that they could act on.
func (r *Renderer) addLinks(m *Message, f Facts, w texts) {
	if r.cfg.PublicURL == "" || f.Test {
		return
	}
	base := strings.TrimSuffix(r.cfg.PublicURL, "/")
	switch {
	case f.Notice != nil && f.Notice.Hint != nil:
		m.Link = Link{w.incident, base + "/monitors/" + string(f.Notice.Hint.MonitorID)}
	case f.Notice != nil && f.Notice.Channel != nil:
		m.Link = Link{w.incident, base + "/channels"}
		if all := f.Notice.Channel.Channels; len(all) == 1 {
			m.Link.URL += "/" + all[0].ChannelID
		}
	case f.Notice != nil && f.Notice.Login != "":
		m.Link = Link{w.incident, base + "/settings"}
	case f.Notice != nil:
		m.Link = Link{w.incident, base + "/destinations"}
	case f.Storm != nil:
		m.Link = Link{w.incident, base + "/incidents"}
	case f.Incident != nil:
		m.Link = Link{w.incident, base + "/incidents/" + f.ThreadID}
	}
	if f.Notice != nil || !f.Situation.Open || len(r.cfg.Keys) == 0 {
		return
	}
	add := func(a notify.Action, text string) {
		link := notify.ActionLink{Action: a, DestinationID: f.DestinationID, ExpiresAt: f.Now.Add(notify.ActionLinkTTL)}
		if f.Storm != nil {
			link.StormID = f.ThreadID
		} else {
			link.IncidentID = f.ThreadID
		}
		token, err := notify.SignAction(r.cfg.Keys, link)
		if err == nil {
			m.Actions = append(m.Actions, Link{text, notify.ActionURL(base, token)})
		}
	}
	if !f.Situation.Handled() {
		add(notify.Acknowledge, w.acknowledge)
	}
	if f.Incident != nil {
		add(notify.SilenceAnHour, w.silence)
	}
}
