// Command streamserver answers every request on port 8000 with a stream of two seconds: a line each tenth of a second, and a last one that
// says "done"; at /later it answers all at once after half a second. It is healthy at once, and ends at SIGTERM without waiting for its requests. With an argument it fails after a second instead.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		time.Sleep(time.Second)
		log.Fatal("it fails, as it was told to")
	}
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	http.HandleFunc("/later", later)
	http.HandleFunc("/", stream)
	log.Fatal(http.ListenAndServe(":8000", nil))
}

func stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for line := range 20 {
		fmt.Fprintf(w, "data: %d\n\n", line)
		http.NewResponseController(w).Flush()
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Fprint(w, "data: done\n\n")
}

func later(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(500 * time.Millisecond)
	fmt.Fprintln(w, "ok")
}
