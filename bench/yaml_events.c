/* yaml_events.c - the limit a checker of YAML files is measured against: libyaml's events, and
 * nothing kept.
 *
 *     yaml_events FILE…
 *
 * Exits 1 if a file cannot be read or is not YAML.
 */
#include <stdio.h>
#include <yaml.h>

static int read_events(FILE *f)
{
    yaml_parser_t parser;
    yaml_event_t event;
    int done = 0, good = yaml_parser_initialize(&parser);

    if (!good)
        return 0;
    yaml_parser_set_input_file(&parser, f);
    while (!done && good) {
        good = yaml_parser_parse(&parser, &event);
        if (good) {
            done = event.type == YAML_STREAM_END_EVENT;
            yaml_event_delete(&event);
        }
    }
    yaml_parser_delete(&parser);
    return good;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "re");
        int good = f && read_events(f);

        if (f)
            fclose(f);
        if (!good) {
            fprintf(stderr, "yaml_events: %s\n", argv[i]);
            return 1;
        }
    }
    return 0;
}
