use super::*;

fn shown(text: &str) -> Vec<String> {
    match parse_tokens("t", text) {
        Ok(lines) => lines.iter().map(|l| format!("{l:?}")).collect(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// Also writes them to the folder of FILERMARK_FUZZ_SEEDS, for ci/fuzz.
#[test]
fn lines_as_the_manual_prints_them() {
    let cases = [
        (
            "Clientname=client1  Username= root Workdir= /tmp Execpath=/tmp/netmist Workload=METADATA\n",
            "client1 /tmp METADATA None x 1",
        ),
        (
            "Clientname=client1 Username=me Workdir=/mnt Execpath=/usr/local/bin/netmist Workload=VDA2 Oprate=0.22 Instances= 7",
            "client1 /mnt VDA2 Some(0.22) x 7",
        ),
        (
            "Workload=METADATA # what\r\n",
            "t:1:1: the line has no Clientname; a line needs Clientname, Workdir and Workload",
        ),
        (
            "  workload = 'X' CLIENTNAME=\"[::1]\" Instances =2 Workdir=\"/a b\"\n# end",
            "::1 /a b X None x 2",
        ),
        (
            "Clientname=nv8 Username=DOMAIN\\administrator Workdir=/v Workload=METADATA\nPassword=my_password\n",
            "nv8 /v METADATA None x 1",
        ),
    ];
    let corpus = std::env::var_os("FILERMARK_FUZZ_SEEDS");
    let corpus = corpus.map(|c| std::path::Path::new(&c).join("netmist_tokens"));
    for (number, (text, want)) in cases.into_iter().enumerate() {
        assert_eq!(shown(text)[0], want, "{text}");
        if let Some(folder) = &corpus {
            std::fs::create_dir_all(folder).expect("create the corpus folder");
            std::fs::write(folder.join(format!("seed-{number}")), text).expect("write a seed");
        }
    }
}

#[test]
fn what_is_refused_and_where() {
    let line = "Clientname=localhost Workdir=/mnt Workload=METADATA";
    let cases = [
        ("", "t: there is no client in the token file"),
        ("\n# nothing\n", "t: there is no client"),
        ("Clientname", "t:1:1: 'Clientname' is not Key=value"),
        (
            &format!("{line} Execpath=/test /netmist"),
            "t:1:68: '/netmist' is not Key=value; put a value with blanks",
        ),
        (
            &format!("{line} Workloda=X"),
            "t:1:53: there is no key 'Workloda'; did you mean Workload?",
        ),
        (
            &format!("{line} Zzz=X"),
            "t:1:53: there is no key 'Zzz'; known: Clientname",
        ),
        (
            &format!("{line} Oprate=fast"),
            "t:1:53: Oprate=fast is not a rate",
        ),
        (
            &format!("{line} Oprate=-1"),
            "t:1:53: Oprate=-1 is not a rate",
        ),
        (
            &format!("{line} Oprate=nan"),
            "t:1:53: Oprate=nan is not a rate",
        ),
        (
            &format!("{line} Instances= #"),
            "t:1:53: Instances has no value; write a number",
        ),
        (
            &format!("{line} Instances=0"),
            "t:1:53: Instances=0 is not a number of copies",
        ),
        (
            &format!("{line} Password= Oprate=4"),
            "t:1:53: Password has no value",
        ),
        (&format!("{line} Workdir=/x"), "t:1:53: Workdir is twice"),
        (
            &format!("{line} Username=\"me"),
            "t:1:62: the quote \" that opens the value of Username",
        ),
        (
            &format!("{line} Username=\u{201c}me\u{201d}"),
            "t:1:62: the value of Username is in typographical",
        ),
        (
            "Clientname=a/b Workdir=/m Workload=X",
            "t:1:1: Clientname=a/b is not a valid host name",
        ),
        (
            "Clientname=-oX Workdir=/m Workload=X",
            "t:1:1: Clientname=-oX has a client name that begins with '-'",
        ),
        (
            "Clientname=a[1-3 Workdir=/m Workload=X",
            "t:1:1: Clientname=a[1-3 has no closing bracket",
        ),
        (
            &format!("{line} Username=-l"),
            "t:1:53: Username=-l begins with '-', as options do",
        ),
        (
            &format!("{line} Username=\"a b\""),
            "t:1:53: Username=a b is not a valid user name",
        ),
        (
            &format!("{line} Execpath=/x;id"),
            "t:1:53: Execpath=/x;id has a character that is special to the shell",
        ),
        (
            &format!("{line} Username=me\n\n{line}\n{line} Username=you"),
            "t:4:53: Username=you for client localhost, which has me at t:1:53; a client has one agent",
        ),
        (
            &format!("{line} Execpath=/a\nExecpath=/b {line}"),
            "t:2:1: Execpath=/b for client localhost, which has /a at t:1:53",
        ),
        (
            "Clientname=a[1-9999] Workdir=/m Workload=X\nClientname=b[1-2] Workdir=/m Workload=X",
            "t: there are more than 10000 clients",
        ),
        (
            "Clientname=a Workdir=m Workload=X",
            "t:1:14: Workdir=m has a path that does not begin with /",
        ),
        (
            "Clientname=a Workdir=\\\\f Workload=X",
            "t:1:14: Workdir=\\\\f names no share",
        ),
        ("Password=x", "t:1:1: the line has no Clientname"),
        (
            &format!("{line} Instances=90000\n{line} Instances=90000"),
            "t: the lines make 180000 procs",
        ),
    ];
    for (text, want) in cases {
        let got = shown(text);
        assert!(got[0].starts_with(want), "{text:?}: {got:?}");
    }
}

#[test]
fn a_range_of_clients_is_a_line_for_each() {
    let text = "Clientname=nv[09-11] Username=me Workdir=/m Workload=X Instances=2\n\
                Clientname=NV10 Workdir=/m Workload=Y";
    let lines = parse_tokens("t", text).unwrap();
    let of: Vec<_> = lines
        .iter()
        .map(|l| (l.client.as_str(), l.user.as_deref(), l.instances))
        .collect();
    let me = Some("me");
    let want = [
        ("nv09", me, 2),
        ("nv10", me, 2),
        ("nv11", me, 2),
        ("NV10", None, 1),
    ];
    assert_eq!(of, want);
}

#[test]
fn all_mistakes_are_reported_up_to_a_limit() {
    let errors = parse_tokens("t", &"x y z\n".repeat(1000)).unwrap_err();
    assert_eq!(errors.len(), ERRORS_MAX);
    let text = "Clientname=a Workdir=b Workload=X Oprate=0\nWorkdir=/x\n";
    let errors = parse_tokens("t", text).unwrap_err();
    let lines: Vec<String> = errors.iter().map(|e| e.location.to_string()).collect();
    assert_eq!(lines, ["t:1:14", "t:1:35", "t:2:1", "t:2:1"]);
}

#[test]
fn a_password_is_not_stored() {
    let text = "Clientname=a Workdir=/b Workload=X Password=geheim";
    let lines = parse_tokens("t", text).unwrap();
    assert!(lines[0].has_password);
    let errors = parse_tokens("t", &format!("{text} Oprate=x")).unwrap_err();
    assert!(!format!("{errors:?}{lines:?}").contains("geheim"));
    // A quote that is never closed is reported without its content.
    let errors = parse_tokens("t", "Clientname=a Password=\"geheim").unwrap_err();
    assert!(!format!("{errors:?}").contains("geheim"), "{errors:?}");
}
