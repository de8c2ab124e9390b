import com.sun.xml.fastinfoset.sax.SAXDocumentParser;
import com.sun.xml.fastinfoset.sax.SAXDocumentSerializer;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.xml.parsers.SAXParserFactory;
import org.xml.sax.Attributes;
import org.xml.sax.ContentHandler;
import org.xml.sax.InputSource;
import org.xml.sax.XMLReader;
import org.xml.sax.helpers.DefaultHandler;

/**
 * Compares our documents with the reference implementation.
 *
 * <p>The argument is a file with a job on each line, its paths separated by tabs: a Fast Infoset document (or "-" for
 * none), the XML text it must equal, and where to write the reference's encodings of the text, in UTF-8 and in
 * UTF-16. Prints a line for each failure, then the number of successes. One process handles all jobs: starting Java
 * takes longer than a hundred documents.
 */
public class Interop {
    private static final String LEXICAL_HANDLER = "http://xml.org/sax/properties/lexical-handler";

    /** The events of a document, one on each line, with everything that has no meaning in canonical order. */
    private static class Events extends DefaultHandler {
        final List<String> lines = new ArrayList<>();
        private final StringBuilder text = new StringBuilder();
        private final Map<String, String> namespaces = new TreeMap<>();

        private void add(String line) {
            if (text.length() > 0) {
                lines.add("text " + text);
                text.setLength(0);
            }
            lines.add(line);
        }

        @Override
        public void startPrefixMapping(String prefix, String uri) {
            namespaces.put(prefix, uri == null ? "" : uri);
        }

        @Override
        public void startElement(String uri, String local, String qualified, Attributes attributes) {
            Map<String, String> values = new TreeMap<>();
            for (int i = 0; i < attributes.getLength(); i++) {
                String name = "{" + attributes.getURI(i) + "}" + attributes.getLocalName(i);
                values.put(name + " " + attributes.getQName(i), attributes.getValue(i));
            }
            add("start {" + uri + "}" + local + " " + qualified + " " + namespaces + " " + values);
            namespaces.clear();
        }

        @Override
        public void endElement(String uri, String local, String qualified) {
            add("end " + qualified);
        }

        @Override
        public void characters(char[] buffer, int start, int length) {
            text.append(buffer, start, length);
        }

        @Override
        public void ignorableWhitespace(char[] buffer, int start, int length) {
            text.append(buffer, start, length);
        }
    }

    private static final SAXParserFactory PARSERS = SAXParserFactory.newInstance();

    private static void parseXml(byte[] text, ContentHandler handler) throws Exception {
        XMLReader reader = PARSERS.newSAXParser().getXMLReader();
        reader.setContentHandler(handler);
        if (handler instanceof SAXDocumentSerializer) {
            reader.setProperty(LEXICAL_HANDLER, handler);
        }
        reader.parse(new InputSource(new ByteArrayInputStream(text)));
    }

    private static void encode(byte[] text, String encoding, Path path) throws Exception {
        SAXDocumentSerializer serializer = new SAXDocumentSerializer();
        serializer.setCharacterEncodingScheme(encoding);
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(path))) {
            serializer.setOutputStream(out);
            parseXml(text, serializer);
        }
    }

    private static String difference(List<String> ours, List<String> text) {
        for (int i = 0; i < Math.max(ours.size(), text.size()); i++) {
            String left = i < ours.size() ? ours.get(i) : "(nothing)";
            String right = i < text.size() ? text.get(i) : "(nothing)";
            if (!left.equals(right)) {
                return "event " + i + ": Fast Infoset says " + left + ", XML says " + right;
            }
        }
        return null;
    }

    private static String run(String[] job) throws Exception {
        byte[] text = Files.readAllBytes(Path.of(job[1]));
        encode(text, "UTF-8", Path.of(job[2]));
        encode(text, "UTF-16BE", Path.of(job[3]));
        if (job[0].equals("-")) {
            return null;
        }
        Events ours = new Events();
        SAXDocumentParser parser = new SAXDocumentParser();
        parser.setContentHandler(ours);
        parser.parse(new ByteArrayInputStream(Files.readAllBytes(Path.of(job[0]))));
        Events expected = new Events();
        parseXml(text, expected);
        return difference(ours.lines, expected.lines);
    }

    public static void main(String[] arguments) throws Exception {
        PARSERS.setNamespaceAware(true);
        int fine = 0;
        int failed = 0;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] job = line.split("\t");
            String failure;
            try {
                failure = run(job);
            } catch (Exception e) {
                failure = e.toString();
            }
            if (failure == null) {
                fine++;
            } else {
                failed++;
                System.out.println("FAILED " + job[1] + ": " + failure);
            }
        }
        System.out.println(fine + " fine");
        System.exit(failed == 0 ? 0 : 1);
    }
}
