// Stranger is text that somebody else wrote: a title, a name, a note. It has its own direction and is never markup.
export function Stranger({ children, className = "" }: { children: string; className?: string }) {
  return (
    <span class={`stranger ${className}`} dir="auto" title={children}>
      {children}
    </span>
  );
}

// ErrorText is what the gateway, a worker or a tool wrote about a failure. It is English on every page.
export function ErrorText({ children }: { children: string }) {
  return (
    <span class="wrap" lang="en" dir="auto">
      {children}
    </span>
  );
}
