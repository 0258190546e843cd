import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

// useInView is true once the element has been in view: each picture costs a request for its link.
export function useInView<T extends Element>() {
  const ref = useRef<T>(null);
  const seen = useSignal(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((e) => e.isIntersecting)) return;
      seen.value = true;
      observer.disconnect();
    }, { rootMargin: "100px" });
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, []);
  return [ref, seen.value] as const;
}
