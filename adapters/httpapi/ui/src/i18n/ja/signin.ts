import type { Words } from "..";

export const signin: Words["signin"] = {
  title: "サインイン",
  lead: "APIキーの入力は一度だけです。このブラウザーでは12時間サインインしたままになります。",
  key: "APIキー",
  keyHint: ["設定 ", " の値、または初回起動時に ", " が表示した値です。同時に表示される一回限りのリンクなら、キーなしでサインインできます。"],
  show: "キーを表示",
  hide: "キーを隠す",
  submit: "サインイン",
  missing: "キーを入力してください。",
  wrong: "このキーは登録されていません。",
  wrongText: "何度か間違えると、このアドレスからは1分間サインインできなくなります。",
  wait: (duration) => `このアドレスから誤ったキーが続いたため、${duration}待つ必要があります。`,
  expired: "このリンクは無効です。",
  expiredText: "リンクは一回だけ、10分以内に使えます。キーでサインインするか、ゲートウェイを再起動して新しいリンクを取得してください。",
  unreachable: "ゲートウェイが応答しません。",
  answers: (ms) => `ゲートウェイ応答 ${ms} ms`,
  encrypted: "暗号化あり",
  plain: "暗号化なし（HTTP）",
};
