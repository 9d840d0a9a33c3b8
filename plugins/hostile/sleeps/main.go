// sleeps sleeps for ten seconds.
package main

import (
	"time"

	"github.com/toolhost/toolhost/pdk"
)

func init() { pdk.Tool(sleeps) }

func sleeps(_ pdk.Call, _ struct{}) (any, error) {
	time.Sleep(10 * time.Second)
	return map[string]string{"text": "slept"}, nil
}

func main() {}
