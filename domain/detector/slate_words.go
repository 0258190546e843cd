package detector

var slateWords = Words{
	English: Phrases{
		Title:     "Slate on air",
		State:     "slate",
		Lasts:     "Slate on air for {lasted}.",
		Alert:     "A slate is on air",
		Recovered: "Programme is back",
		Means:     "A slate is a picture that looks like a reference of this stream, with colours that differ by {chroma_difference_at_most} levels at most, at a time at which it is unwanted.",
		First:     "is the switcher still on the slate? → switch to the programme.",
		Check:     "Is the switcher on the programme? If it is, the encoder shows a slate of its own, as some do without an input. If the slate is meant, silence the messages until the programme begins.",
		Settings:  map[string]string{"detectors.slate.threshold_sec": "Slate: alert after, s"},
		Values:    map[string]string{"similarity": "Similarity, of 1", "chroma_difference": "Difference of colours, of 255"},
	},
	Japanese: Phrases{
		Title:     "待機画面のまま",
		State:     "待機画面",
		Lasts:     "待機画面が{lasted}継続。",
		Alert:     "待機画面のまま",
		Recovered: "番組に復帰",
		Means:     "この配信の参照画像に似ていて色差が{chroma_difference_at_most}階調以下の映像が、出るべきでない時間に出ていれば待機画面。",
		First:     "スイッチャーが待機画面のまま？ → 番組に切り替え",
		Check:     "スイッチャーは番組を出していますか。出していれば、入力のないエンコーダーが内蔵の待機画面を出しています。意図した待機画面なら、番組が始まるまで通知をミュートしてください。",
		Settings:  map[string]string{"detectors.slate.threshold_sec": "待機画面のアラートまで（秒）"},
		Values:    map[string]string{"similarity": "類似度（最大1）", "chroma_difference": "色差（255階調）"},
	},
}
