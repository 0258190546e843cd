package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// shown are the files with the texts that people read, by language.
var shown = map[string][]string{
	"en": {"adapters/httpapi/ui/src/i18n/en/*.ts", "application/delivery/message/templates/en.tmpl", "adapters/httpapi/actionpage.go", "domain/detector/*_words.go", "domain/ingest/issues.go", "domain/notify/channels.go"},
	"ja": {"adapters/httpapi/ui/src/i18n/ja/*.ts", "application/delivery/message/templates/ja.tmpl", "adapters/httpapi/actionpage.go", "domain/detector/*_words.go", "domain/ingest/*.go", "domain/notify/channels.go"},
}

var (
	rowOfWords = regexp.MustCompile(`(?m)^\| ([^|]+) \| ?([^|]*) \| ([^|]+) \| ?([^|]*) \|$`) // a row of four columns
	literal    = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`")
	action     = regexp.MustCompile(`(?s){{.*?}}|\${[^}]*}`) // of a template
	japanese   = regexp.MustCompile(`\p{Han}|\p{Hiragana}|\p{Katakana}`)
)

// ofProviders are words on the pages of providers, which people look for there.
var ofProviders = []string{"Teamsでチャネル", "Webhookアラートをチャネルに送信", "チャネルアクセストークン", "チャネル → Messaging API設定", "チャネル基本設定", "→ ウェブフック"}

// TestPeopleReadOneWordForEachThing refuses words that the second table of the glossary does not accept.
func TestPeopleReadOneWordForEachThing(t *testing.T) {
	_, table, found := strings.Cut(string(must.Get(os.ReadFile(filepath.Join(root, "docs/glossary.md")))(t)), "| word | not | 日本語 |")
	accepted, refused := map[string][]string{"ja": ofProviders}, map[string][]string{}
	split := func(list string) []string {
		return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("、：,:()", r) })
	}
	for _, row := range rowOfWords.FindAllStringSubmatch(table, -1) {
		if !japanese.MatchString(row[3]) && row[3] != "Webhook" {
			t.Errorf("%s has no Japanese word", row[1])
		}
		for language, n := range map[string]int{"en": 1, "ja": 3} {
			accepted[language] = append(accepted[language], split(row[n])...)
			refused[language] = append(refused[language], split(row[n+1])...)
		}
	}
	if !found || len(refused["ja"]) < 30 || len(refused["en"]) < 10 {
		t.Fatalf("the glossary refuses %v: the test does not find its table", refused)
	}
	for language, patterns := range shown {
		for _, pattern := range patterns {
			files := must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)
			if len(files) == 0 {
				t.Errorf("there is no %s", pattern)
			}
			for _, file := range files {
				text := string(must.Get(os.ReadFile(file))(t))
				for _, word := range refused[language] {
					if line := lineWith(text, strings.TrimSpace(word), accepted[language], language); line != "" {
						t.Errorf("%s: %q is not one of the words of docs/glossary.md: %s", file, word, line)
					}
				}
			}
		}
	}
}

// lineWith returns the first text of a file that has a word outside of accepted ones; empty: none. Of English, these
// are literals and the texts of templates; a name in a program may be any word.
func lineWith(text, word string, accepted []string, language string) string {
	texts := strings.Split(text, "\n")
	if language == "en" {
		text = action.ReplaceAllString(text, "")
		if texts = literal.FindAllString(text, -1); strings.Contains(text, "TEMPLATES_DIR") {
			texts = strings.Split(text, "\n")
		}
	}
	for _, line := range texts {
		rest := strings.ToLower(line)
		for _, longer := range accepted {
			if strings.Contains(longer, word) {
				rest = strings.ReplaceAll(rest, strings.ToLower(longer), "")
			}
		}
		if regexp.MustCompile(`(?i)` + wordPattern(word, language)).MatchString(rest) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func wordPattern(word, language string) string {
	if language == "en" {
		return `\b` + regexp.QuoteMeta(word) + `\b`
	}
	return regexp.QuoteMeta(word)
}
