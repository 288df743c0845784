// Command asker asks web servers for their pages by the names of its arguments, again and again. The answers of NAME are appended to the file
// $OUT-NAME; the last error stands in $OUT-NAME.error.
package main

import (
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		for _, name := range os.Args[1:] {
			ask(client, name, os.Getenv("OUT")+"-"+name)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func ask(client *http.Client, name, file string) {
	answer, err := client.Get("http://" + name + "/")
	if err != nil {
		_ = os.WriteFile(file+".error", []byte(err.Error()), 0o644)
		return
	}
	defer answer.Body.Close()
	page, _ := io.ReadAll(answer.Body)
	if out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err == nil {
		_, _ = out.Write(page)
		_ = out.Close()
	}
}
