import { render } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { text } from "../i18n";
import { path } from "../router";

export interface Question {
  title: string;
  text?: string; // what happens then
  yes: string; // the verb of what is asked about
}

// ask shows a question, and answers whether it was answered with yes. Escape, and another page, say no.
export function ask(question: Question): Promise<boolean> {
  const host = document.body.appendChild(document.createElement("div"));
  return new Promise<boolean>((answer) => render(<Ask {...question} answer={answer} />, host)).finally(() => {
    render(null, host);
    host.remove();
  });
}

function Ask({ title, text: then, yes, answer }: Question & { answer: (yes: boolean) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal(); // at once: a second click finds the question
    const asked = path.peek();
    return path.subscribe((shown) => shown !== asked && dialog.current?.close());
  }, []);
  return (
    <dialog ref={dialog} role="alertdialog" aria-labelledby="ask-title" aria-describedby={then && "ask-text"} onClose={(e) => answer(e.currentTarget.returnValue === "yes")}>
      <form method="dialog">
        <h2 id="ask-title">{title}</h2>
        {then && <p id="ask-text">{then}</p>}
        <div class="actions">
          <button class="btn primary" value="yes">
            {yes}
          </button>
          <button class="btn" autofocus>
            {text.value.common.cancel}
          </button>
        </div>
      </form>
    </dialog>
  );
}
