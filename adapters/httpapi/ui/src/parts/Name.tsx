// Stranger is text that somebody else wrote: a title, a name, a note. It has its own direction and is never markup.
export function Stranger({ children, className = "" }: { children: string; className?: string }) {
  return (
    <span class={`stranger ${className}`} dir="auto" title={children}>
      {children}
    </span>
  );
}
