package detector

var renditionWords = Words{
	English: Phrases{
		Title:     "A quality is bad",
		State:     "a quality bad",
		Lasts:     "A quality is bad for {lasted}.",
		Alert:     "A quality is bad",
		Recovered: "All qualities are good again",
		Means:     "A quality is bad if it is gone, stands still, cannot be decoded or is black, while another one is good.",
		First:     "open the stream in a browser and choose the quality that is named → YouTube's support, if it is bad there too.",
		Check:     "Is the quality bad in a browser, too? Then it is the platform that makes it so: the encoder sends one quality only. Starting the stream anew may help.",
		Settings:  map[string]string{"detectors.rendition.threshold_sec": "A quality: alert after, s"},
	},
	Japanese: Phrases{
		Title:     "一部の画質に異常",
		State:     "一部の画質に異常",
		Lasts:     "一部の画質の異常が{lasted}継続。",
		Alert:     "一部の画質に異常",
		Recovered: "すべての画質が復旧",
		Means:     "ほかの画質が正常なのに、消えた、止まった、復号できない、または真っ黒な画質があれば異常。",
		First:     "ブラウザーで該当の画質を選んで確認 → 再現すればYouTubeのサポート",
		Check:     "ブラウザーでもその画質に異常がありますか。あれば原因は配信サイトの側です（エンコーダーが送る画質は1つだけです）。配信の再開始で直ることがあります。",
		Settings:  map[string]string{"detectors.rendition.threshold_sec": "画質の異常の通知まで（秒）"},
	},
}

// Of detectors that are to come.
var _ = []Words{slateWords, renditionWords}
