// A server in Go over records in memory: server PORT DATA.json SCHEMA.graphql
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"

	graphql "github.com/graph-gophers/graphql-go"
)

type tag struct {
	Key   string
	Value string
}

type owner struct {
	ID   graphql.ID
	Name string
}

type part struct {
	ID   graphql.ID
	Name string
}

type item struct {
	ID          graphql.ID
	Name        string
	Description string
	Position    int32
	Price       float64
	Active      bool
	CreatedAt   string
	UpdatedAt   string
	Tags        []*tag
	OwnerID     graphql.ID
	records     *records
}

type pageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool
	StartCursor     *string
	EndCursor       *string
}

type edge[T any] struct {
	Cursor string
	Node   T
}

type connection[T any] struct {
	Edges    []*edge[T]
	PageInfo *pageInfo
}

type records struct {
	items  []*item
	byID   map[graphql.ID]int
	owners map[graphql.ID]*owner
	parts  map[graphql.ID][]*part
}

func (r *records) Item(args struct{ ID graphql.ID }) *item {
	place, found := r.byID[args.ID]
	if !found {
		return nil
	}
	return r.items[place]
}

func (r *records) Items(args struct{ First int32 }) []*item {
	return r.items[:min(int(args.First), len(r.items))]
}

type window struct {
	First int32
	After *string
}

func (r *records) Page(args window) *connection[*item] {
	return cut(r.items, args, func(one *item) string { return string(one.ID) })
}

func (i *item) Owner() *owner {
	return i.records.owners[i.OwnerID]
}

func (i *item) Parts(args window) *connection[*part] {
	return cut(i.records.parts[i.ID], args, func(one *part) string { return string(one.ID) })
}

// cut returns a page of up to First nodes behind the one with the id After.
func cut[T any](nodes []T, asked window, id func(T) string) *connection[T] {
	start := 0
	if asked.After != nil {
		for start < len(nodes) && id(nodes[start]) <= *asked.After {
			start++
		}
	}
	end := min(start+int(asked.First), len(nodes))
	found := &connection[T]{PageInfo: &pageInfo{end < len(nodes), asked.After != nil, nil, nil}}
	for _, node := range nodes[start:end] {
		found.Edges = append(found.Edges, &edge[T]{id(node), node})
	}
	if len(found.Edges) > 0 {
		found.PageInfo.StartCursor = &found.Edges[0].Cursor
		found.PageInfo.EndCursor = &found.Edges[len(found.Edges)-1].Cursor
	}
	return found
}

func min(one, other int) int {
	if one < other {
		return one
	}
	return other
}

func read(path string) *records {
	var data struct {
		Items  []*item
		Owners []*owner
		Parts  map[graphql.ID][]*part
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &data)
	}
	if err != nil {
		log.Fatal(err)
	}
	found := &records{data.Items, map[graphql.ID]int{}, map[graphql.ID]*owner{}, data.Parts}
	for place, one := range data.Items {
		one.records = found
		found.byID[one.ID] = place
	}
	for _, one := range data.Owners {
		found.owners[one.ID] = one
	}
	return found
}

type asked struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
}

func readRequest(request *http.Request) (asked, error) {
	var found asked
	if request.Method != http.MethodGet {
		err := json.NewDecoder(request.Body).Decode(&found)
		return found, err
	}
	given := request.URL.Query()
	found.Query, found.OperationName = given.Get("query"), given.Get("operationName")
	err := json.Unmarshal([]byte(given.Get("variables")), &found.Variables)
	return found, err
}

func main() {
	port, data := os.Args[1], os.Args[2]
	text, err := os.ReadFile(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	// The library cannot read a default of null, which means the same as none.
	sdl := strings.ReplaceAll(string(text), " = null", "")
	schema := graphql.MustParseSchema(sdl, read(data), graphql.UseFieldResolvers())
	http.HandleFunc("/graphql", func(writer http.ResponseWriter, request *http.Request) {
		found, err := readRequest(request)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		answer := schema.Exec(request.Context(), found.Query, found.OperationName, found.Variables)
		body, err := json.Marshal(answer)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
		writer.Write(body)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
