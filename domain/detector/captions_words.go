package detector

var captionsMissingWords = Words{
	English: Phrases{
		Title:     "No captions",
		State:     "captions missing",
		Lasts:     "No captions for {lasted}.",
		Alert:     "Captions are missing",
		Recovered: "Captions are back",
		Means:     "Captions are missing if they were announced or came before, and there is sound, but no text.",
		First:     "look at the captioner and the caption encoder → captions in {studio}.",
		Check:     "Does the captioner or the speech recognition still write? If it does, look at the caption encoder and its connection. Sound without speech looks the same.",
		Settings:  map[string]string{"detectors.captions_missing.threshold_sec": "No captions: alert after, s"},
		Values:    map[string]string{"captions": "Captions (1: text)"},
	},
	Japanese: Phrases{
		Title:     "字幕途絶",
		State:     "字幕なし",
		Lasts:     "字幕途絶が{lasted}継続。",
		Alert:     "字幕途絶",
		Recovered: "字幕が復旧",
		Means:     "予告されている字幕、または以前はあった字幕が、音声があるのに出なければ字幕途絶。",
		First:     "字幕の入力と字幕エンコーダー → {studio}の字幕",
		Check:     "字幕の入力（オペレーター、音声認識）は続いていますか。続いていれば、字幕エンコーダーとその接続を確認してください。話し声のない場面でも同じ状態になります。",
		Settings:  map[string]string{"detectors.captions_missing.threshold_sec": "字幕途絶のアラートまで（秒）"},
		Values:    map[string]string{"captions": "字幕（1：文字あり）"},
	},
}
