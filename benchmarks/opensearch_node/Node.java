import java.lang.reflect.Constructor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

/**
 * One OpenSearch node made of the classes on the class path, as the server's archive is not in Maven
 * Central. Arguments: its directory, then `plugin=CLASS` and `setting=value`. By reflection, so that
 * the same source starts 2.x, whose nodes take classes of plugins, and 3.x, whose take descriptions.
 */
public class Node {
    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]).toAbsolutePath();
        Path config = Files.createDirectories(home.resolve("config"));
        Class<?> settingsClass = Class.forName("org.opensearch.common.settings.Settings");
        Object builder = settingsClass.getMethod("builder").invoke(null);
        var put = builder.getClass().getMethod("put", String.class, String.class);
        put.invoke(builder, "path.home", home.toString());
        List<String> plugins = new ArrayList<>();
        for (String each : Arrays.asList(arguments).subList(1, arguments.length)) {
            String[] pair = each.split("=", 2);
            if (pair[0].equals("plugin")) plugins.add(pair[1]);
            else put.invoke(builder, pair[0], pair[1]);
        }
        Supplier<String> name = () -> "catalog";
        Object environment = Class.forName("org.opensearch.node.InternalSettingsPreparer")
            .getMethod("prepareEnvironment", settingsClass, Map.class, Path.class, Supplier.class)
            .invoke(null, builder.getClass().getMethod("build").invoke(builder), Map.of(), config, name);
        Class<?> nodeClass = Class.forName("org.opensearch.node.Node");
        Constructor<?> constructor = nodeClass.getDeclaredConstructor(
            Class.forName("org.opensearch.env.Environment"), java.util.Collection.class, boolean.class);
        constructor.setAccessible(true);
        boolean described = constructor.toGenericString().contains("PluginInfo");
        List<Object> given = new ArrayList<>();
        for (String plugin : plugins) given.add(described ? description(plugin) : Class.forName(plugin));
        Object node = constructor.newInstance(environment, given, false);
        nodeClass.getMethod("start").invoke(node);
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                nodeClass.getMethod("close").invoke(node);
            } catch (ReflectiveOperationException error) {
                error.printStackTrace();
            }
            stopped.countDown();
        }));
        stopped.await();
    }

    private static Object description(String plugin) throws ReflectiveOperationException {
        Class<?> version = Class.forName("org.opensearch.Version");
        String java = Integer.toString(Runtime.version().feature());
        return Class.forName("org.opensearch.plugins.PluginInfo")
            .getConstructor(String.class, String.class, String.class, version, String.class,
                String.class, String.class, List.class, boolean.class)
            .newInstance(plugin, "on the class path", "NA", version.getField("CURRENT").get(null),
                java, plugin, null, List.of(), false);
    }
}
