package ingest

import "fmt"

// Words are what people read of an issue, in the languages of messages and of the dashboard.
type Words struct {
	English  Phrases `json:"en"`
	Japanese Phrases `json:"ja"`
}

// In returns the phrases of a language, "en" or "ja"; of any other, the English ones.
func (w Words) In(language string) Phrases {
	if language == "ja" {
		return w.Japanese
	}
	return w.English
}

// Phrases are the words of an issue in one language: each a sentence.
type Phrases struct {
	Says string `json:"says"` // what is wrong with the signal
	Do   string `json:"do"`   // what to do about it
}

// Words returns the words of the issue. Those of an unknown type name it, with what the source says.
func (i Issue) Words() Words {
	if k, is := kinds[i.Type]; is {
		return k.words
	}
	said := i.Type
	if i.Reason != "" {
		said = fmt.Sprintf("%s: %s", i.Type, i.Reason)
	}
	return Words{
		Phrases{fmt.Sprintf("YouTube finds something wrong with the signal (%s).", said), "Look at the stream's health in YouTube Studio."},
		Phrases{fmt.Sprintf("YouTubeが信号の問題を報告しています（%s）。", said), "YouTube Studioの「ストリームの状態」を確認してください。"},
	}
}
